import { LRUCache } from 'lru-cache';

export interface BucketLimits {
  /** Tokens of a full bucket. */
  readonly capacity: number;
  readonly refillPerSecond: number;
  /** Maximum number of buckets. The least recently used bucket is removed first. */
  readonly maxBuckets: number;
}

interface Bucket {
  readonly tokens: number;
  /** When `tokens` was computed, in milliseconds since 1970. */
  readonly time: number;
}

/** One token bucket per key, in bounded memory. */
export class TokenBuckets {
  private readonly buckets: LRUCache<string, Bucket>;

  constructor(
    private readonly limits: BucketLimits,
    private readonly now: () => number = Date.now,
  ) {
    this.buckets = new LRUCache({ max: limits.maxBuckets });
  }

  /** Returns the seconds until the key has a token; 0 if it has one. */
  secondsUntilToken(key: string): number {
    const { tokens } = this.current(key);
    return tokens >= 1 ? 0 : Math.max(1, Math.ceil((1 - tokens) / this.limits.refillPerSecond));
  }

  take(key: string): void {
    const { tokens, time } = this.current(key);
    this.buckets.set(key, { tokens: Math.max(0, tokens - 1), time });
  }

  private current(key: string): Bucket {
    const { capacity, refillPerSecond } = this.limits;
    const time = this.now();
    // A check does not create a bucket and does not refresh its position.
    const bucket = this.buckets.peek(key);
    if (bucket === undefined) return { tokens: capacity, time };
    const refilled = (Math.max(0, time - bucket.time) / 1_000) * refillPerSecond;
    return { tokens: Math.min(capacity, bucket.tokens + refilled), time };
  }
}
