import { backoffMs, retryAt, type RetryPolicy } from '@app/domain';

/** The retry of a released run: immediately. A release uses no attempt, so the limit does not apply. */
export const RELEASED = { maxAttempts: 1, notBefore: null };

/** Returns the retry of a lost run. `attempt` counts from 1. `now` is the database time in milliseconds since 1970. */
export const retryAfterAttempt = (policy: RetryPolicy, attempt: number, now: number) => ({
  maxAttempts: policy.attempts,
  notBefore: retryAt(now, attempt, policy, Math.random()),
});

const DATABASE_ERROR_BACKOFF = { backoffMs: 1_000, maxBackoffMs: 300_000 };

/**
 * Returns the retry of a run that a database error ended. It uses no attempt, because the agent did nothing wrong. `leaseGeneration`
 * counts the runs of the task.
 */
export const retryAfterDatabaseError = (leaseGeneration: number, now: number) => ({
  maxAttempts: 1,
  notBefore: new Date(now + backoffMs(leaseGeneration, DATABASE_ERROR_BACKOFF, Math.random())).toISOString(),
});
