import type { BackoffPolicy } from '@app/domain';
import type { Resolver } from '@app/network';

/** The options of the webhook sender. The backoff is the wait between two attempts at one delivery. */
export abstract class WebhookOptions implements BackoffPolicy {
  /** Webhooks that this process sends to concurrently. */
  abstract readonly slots: number;
  /** Attempts at one delivery, after which it is dead. */
  abstract readonly maxAttempts: number;
  abstract readonly backoffMs: number;
  abstract readonly maxBackoffMs: number;
  abstract readonly pollMs: number;
  /** Limit for the response headers of one attempt, in milliseconds. */
  abstract readonly timeoutMs: number;
  /** A webhook whose sender has stopped can be claimed again after this time. Longer than an attempt. */
  abstract readonly leaseMs: number;
  /** Absent: the resolver of the system. */
  readonly resolve?: Resolver;
}

/** 15 attempts with these waits take almost two hours. */
export const WEBHOOK_DEFAULTS = {
  slots: 32,
  maxAttempts: 15,
  backoffMs: 1_000,
  maxBackoffMs: 900_000,
  pollMs: 500,
};
