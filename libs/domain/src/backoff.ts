/** The wait between attempts: `backoffMs` before the second attempt, then twice the previous wait, at most `maxBackoffMs`. */
export interface BackoffPolicy {
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
}

/** How often an agent's turn is attempted, and the first wait between two attempts in milliseconds. */
export interface RetryPolicy {
  readonly attempts: number;
  readonly backoffMs: number;
}

const MAX_RETRY_BACKOFF_MS = 60_000;

/**
 * Returns the wait in milliseconds after a number of failed attempts: exponential backoff, of which one half is jitter.
 * `attempt` counts from 1. `random` is in [0, 1).
 */
export function backoffMs(attempt: number, policy: BackoffPolicy, random: number): number {
  const wait = Math.min(policy.backoffMs * 2 ** Math.max(0, attempt - 1), policy.maxBackoffMs);
  return wait / 2 + (wait / 2) * random;
}

/** Returns the earliest time of the next attempt (RFC 3339) after a lost run. `now` is in milliseconds since 1970. */
export function retryAt(now: number, attempt: number, policy: RetryPolicy, random: number): string {
  const wait = backoffMs(attempt, { backoffMs: policy.backoffMs, maxBackoffMs: MAX_RETRY_BACKOFF_MS }, random);
  return new Date(now + wait).toISOString();
}
