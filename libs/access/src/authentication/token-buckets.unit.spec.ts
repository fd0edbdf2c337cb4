import { describe, expect, it } from '@jest/globals';
import { TokenBuckets } from './token-buckets.js';

describe('TokenBuckets', () => {
  it('allows a burst and then the refill rate for each key', () => {
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

  it('removes the least recently used bucket above the maximum number', () => {
    const buckets = new TokenBuckets({ capacity: 1, refillPerSecond: 0.1, maxBuckets: 2 }, () => 0);
    for (const key of ['a', 'b', 'a', 'c']) buckets.take(key);
    expect(['a', 'b', 'c'].map((key) => buckets.secondsUntilToken(key))).toEqual([10, 0, 10]);
  });
});
