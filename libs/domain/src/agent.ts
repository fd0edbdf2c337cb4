import type { RetryPolicy } from './backoff.js';
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
