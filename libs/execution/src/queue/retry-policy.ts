import { retryAt, type RetryPolicy } from '@app/domain';

/** The retry of a released run: immediately. A release uses no attempt, so the limit does not apply. */
export const RELEASED = { maxAttempts: 1, notBefore: new Date(0).toISOString() };

/** Returns the retry of a lost run. `attempt` counts from 1. `now` is the database time in milliseconds since 1970. */
export const retryAfterAttempt = (policy: RetryPolicy, attempt: number, now: number) => ({
  maxAttempts: policy.attempts,
  notBefore: retryAt(now, attempt, policy, Math.random()),
});
