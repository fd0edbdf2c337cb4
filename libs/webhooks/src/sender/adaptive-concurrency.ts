interface Entry {
  inFlight: number;
  limit: number;
  isProven: boolean;
}

/** Above this number of keys, the idle key that was used least recently is dropped; its limit starts again. */
const MAX_KEYS = 250;

/**
 * Limits the deliveries in flight for each key (the origin or the URL of a webhook). The limit of a key starts low, doubles
 * with each success and returns to the start with a failure. So a target that never responds occupies few slots.
 */
export class AdaptiveConcurrency {
  /** In the order of the last use. */
  private readonly entries = new Map<string, Entry>();

  constructor(
    private readonly initialLimit: number,
    private readonly maxLimit: number,
  ) {}

  acquire(key: string): void {
    const entry = this.entries.get(key) ?? { inFlight: 0, limit: this.initialLimit, isProven: false };
    entry.inFlight += 1;
    this.entries.delete(key);
    this.entries.set(key, entry);
  }

  /** Adjusts the limit after an attempt. */
  report(key: string, succeeded: boolean): void {
    const entry = this.entries.get(key);
    if (entry === undefined) return;
    entry.limit = succeeded ? Math.min(entry.limit * 2, this.maxLimit) : this.initialLimit;
    entry.isProven = succeeded;
  }

  release(key: string): void {
    const entry = this.entries.get(key);
    if (entry === undefined) return;
    entry.inFlight -= 1;
    // An idle entry that is not proven contains no information.
    if (entry.inFlight === 0 && !entry.isProven) this.entries.delete(key);
    if (this.entries.size > MAX_KEYS) this.dropIdle();
  }

  /** Returns the keys whose limit is reached. */
  saturated(): string[] {
    return [...this.entries].filter(([, { inFlight, limit }]) => inFlight >= limit).map(([key]) => key);
  }

  /** Returns whether the last attempt has succeeded, as far as it is known. */
  isProven(key: string): boolean {
    return this.entries.get(key)?.isProven ?? false;
  }

  /** Returns the keys whose last attempt has succeeded. */
  proven(): string[] {
    return [...this.entries].filter(([, { isProven }]) => isProven).map(([key]) => key);
  }

  private dropIdle(): void {
    for (const [key, { inFlight }] of this.entries) {
      if (inFlight > 0) continue;
      this.entries.delete(key);
      return;
    }
  }
}
