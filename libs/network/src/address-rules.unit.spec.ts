import { describe, expect, it } from '@jest/globals';
import { specialAddress } from './address-rules.js';

describe('specialAddress', () => {
  it.each([
    ['0.0.0.0', 'an unspecified'],
    ['0.1.2.3', 'an unspecified'],
    ['10.255.255.255', 'a private'],
    ['100.64.0.1', 'a shared (carrier)'],
    ['127.0.0.1', 'a loopback'],
    ['127.255.0.9', 'a loopback'],
    ['169.254.169.254', 'a link-local'],
    ['172.31.0.1', 'a private'],
    ['192.0.0.8', 'a reserved'],
    ['192.0.2.1', 'a documentation'],
    ['192.168.1.1', 'a private'],
    ['198.19.0.1', 'a reserved'],
    ['203.0.113.7', 'a documentation'],
    ['224.0.0.1', 'a multicast'],
    ['255.255.255.255', 'a reserved'],
    ['::', 'an IPv4-mapped or translated'],
    ['::1', 'a loopback'],
    ['::7f00:1', 'an IPv4-mapped or translated'],
    ['::ffff:127.0.0.1', 'an IPv4-mapped or translated'],
    ['::ffff:8.8.8.8', 'an IPv4-mapped or translated'],
    ['64:ff9b::7f00:1', 'an IPv4-mapped or translated'],
    ['2002:7f00:1::', 'an IPv4-mapped or translated'],
    ['2001:0:7f00:1::', 'a reserved'],
    ['2001:db8::1', 'a documentation'],
    ['fe80::1', 'a link-local'],
    ['fe80::1%eth0', 'an unusable'],
    ['fc00::1', 'a unique-local'],
    ['fd12:3456::1', 'a unique-local'],
    ['fec0::1', 'a reserved'],
    ['ff02::1', 'a multicast'],
    ['100::1', 'a reserved'],
    ['example.com', 'an unusable'],
    ['', 'an unusable'],
  ])('classifies %j as %s address', (address, kind) => {
    expect(specialAddress(address)).toBe(kind);
  });

  it.each(['8.8.8.8', '1.1.1.1', '172.32.0.1', '100.128.0.1', '2606:4700:4700::1111', '2a00:1450:4001::1'])(
    'classifies %j as public',
    (address) => {
      expect(specialAddress(address)).toBeNull();
    },
  );
});
