import { describe, expect, it } from '@jest/globals';
import { addressGroup } from './address-group.js';

describe('addressGroup', () => {
  it('returns the network of 64 bits of an IPv6 address', () => {
    expect(addressGroup('2001:db8:0:1:1:2:3:4')).toBe('2001:db8:0:1::/64');
    expect(addressGroup('2001:DB8:0:1::9')).toBe('2001:db8:0:1::/64');
    expect(addressGroup('::1')).toBe('0:0:0:0::/64');
    expect(addressGroup('fe80::1%eth0')).toBe('fe80:0:0:0::/64');
  });

  it('returns an IPv4 address unchanged, and without its IPv6 prefix if it is mapped', () => {
    expect(addressGroup('::ffff:10.0.0.1')).toBe('10.0.0.1');
    expect(addressGroup('10.0.0.1')).toBe('10.0.0.1');
  });
});
