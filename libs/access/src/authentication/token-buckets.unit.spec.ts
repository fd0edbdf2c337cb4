import { describe, expect, it } from '@jest/globals';
import { addressGroup, TokenBuckets } from './token-buckets.js';

describe('token buckets', () => {
  it('allow a burst and then what refills, key by key', () => {
    let now = 0;
    const buckets = new TokenBuckets({ capacity: 2, refillPerSecond: 0.5, maxBuckets: 10 }, () => now);
    buckets.take('a');
    expect(buckets.secondsUntilToken('a')).toBe(0);
    buckets.take('a');
    expect(buckets.secondsUntilToken('a')).toBe(2);
    expect(buckets.secondsUntilToken('b')).toBe(0);
    now = 2_000;
    expect(buckets.secondsUntilToken('a')).toBe(0);
  });

  it('forget the key that was longest left alone when there are too many', () => {
    const buckets = new TokenBuckets({ capacity: 1, refillPerSecond: 0.1, maxBuckets: 2 }, () => 0);
    for (const key of ['a', 'b', 'a', 'c']) buckets.take(key);
    expect(['a', 'b', 'c'].map((key) => buckets.secondsUntilToken(key))).toEqual([10, 0, 10]);
  });
});

describe('addresses', () => {
  it('count as one within an IPv6 network of 64 bits', () => {
    expect(addressGroup('2001:db8:0:1:1:2:3:4')).toBe('2001:db8:0:1::/64');
    expect(addressGroup('2001:DB8:0:1::9')).toBe('2001:db8:0:1::/64');
    expect(addressGroup('::1')).toBe('0:0:0:0::/64');
    expect(addressGroup('fe80::1%eth0')).toBe('fe80:0:0:0::/64');
  });

  it('are IPv4 addresses also when they are mapped', () => {
    expect(addressGroup('::ffff:10.0.0.1')).toBe('10.0.0.1');
    expect(addressGroup('10.0.0.1')).toBe('10.0.0.1');
  });
});
