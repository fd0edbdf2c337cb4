import type { JsonObject } from './content.js';

/** What an agent can do, as its card says it (A2A section 4.4.5). */
export interface AgentSkill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly examples?: readonly string[];
  readonly inputModes?: readonly string[];
  readonly outputModes?: readonly string[];
}

/** An extension of A2A that an agent speaks (A2A section 4.4.4). */
export interface AgentExtension {
  readonly uri: string;
  readonly description?: string;
  /** A client that does not name it is refused. */
  readonly required?: boolean;
  readonly params?: JsonObject;
}

/** What the server knows of an agent without running it. */
export interface AgentProfile {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly skills: readonly AgentSkill[];
  /** Media types that it accepts; a pattern such as `text/*` or `*` covers many. */
  readonly inputModes: readonly string[];
  readonly outputModes: readonly string[];
  readonly extensions: readonly AgentExtension[];
  readonly retry: RetryPolicy;
  /** Runs at a time in one process; absent: as many as the process takes. */
  readonly concurrency?: number;
  /** Off: a reused messageId is a new message. For agents whose clients reuse ids. */
  readonly idempotency: 'on' | 'off';
}

/** How often a turn is tried, and how long to wait before the second try; each later wait is twice the one before. */
export interface RetryPolicy {
  readonly attempts: number;
  readonly backoffMs: number;
}

const MAX_BACKOFF_MS = 60_000;

/** When a lost run may be tried again: exponential backoff with half of it as jitter. `random` is in [0, 1). */
export function retryAt(now: number, attempt: number, policy: RetryPolicy, random: number): string {
  const wait = Math.min(policy.backoffMs * 2 ** Math.max(0, attempt - 1), MAX_BACKOFF_MS);
  return new Date(now + wait / 2 + (wait / 2) * random).toISOString();
}
