import { isIPv6 } from 'node:net';

export interface BucketLimits {
  /** Tokens of a full bucket. */
  readonly capacity: number;
  readonly refillPerSecond: number;
  /** Buckets that are kept; the one that was longest left alone goes first. */
  readonly maxBuckets: number;
}

interface Bucket {
  tokens: number;
  at: number;
}

/** One token bucket for each key, in bounded memory. */
export class TokenBuckets {
  private readonly buckets = new Map<string, Bucket>();

  constructor(
    private readonly limits: BucketLimits,
    private readonly now: () => number = Date.now,
  ) {}

  /** Seconds until the key has a token; 0 when it has one. */
  secondsUntilToken(key: string): number {
    const { tokens } = this.current(key);
    return tokens >= 1 ? 0 : Math.max(1, Math.ceil((1 - tokens) / this.limits.refillPerSecond));
  }

  take(key: string): void {
    const { tokens, at } = this.current(key);
    // Deleted and set again, so that the map keeps the order of use.
    this.buckets.delete(key);
    this.buckets.set(key, { tokens: Math.max(0, tokens - 1), at });
    if (this.buckets.size > this.limits.maxBuckets) this.buckets.delete(this.buckets.keys().next().value!);
  }

  private current(key: string): Bucket {
    const { capacity, refillPerSecond } = this.limits;
    const at = this.now();
    const bucket = this.buckets.get(key);
    if (bucket === undefined) return { tokens: capacity, at };
    const refilled = (Math.max(0, at - bucket.at) / 1_000) * refillPerSecond;
    return { tokens: Math.min(capacity, bucket.tokens + refilled), at };
  }
}

/** Addresses that count as one: a customer of IPv6 has a network of 64 bits to choose from (RFC 6177). */
export function addressGroup(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped) return mapped[1]!;
  if (!isIPv6(address)) return address;
  const [left = '', right] = address.split('%')[0]!.toLowerCase().split('::');
  const head = left === '' ? [] : left.split(':');
  const tail = right === undefined || right === '' ? [] : right.split(':');
  const groups = right === undefined ? head : [...head, ...Array(8 - head.length - tail.length).fill('0'), ...tail];
  return `${groups
    .slice(0, 4)
    .map((group) => parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
