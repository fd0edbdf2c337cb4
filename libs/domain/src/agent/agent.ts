import type { RetryPolicy } from '../backoff.js';
import type { JsonObject } from '../content.js';

/** A skill of an agent, as its card describes it (A2A section 4.4.5). */
export interface AgentSkill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly examples?: readonly string[];
  readonly inputModes?: readonly string[];
  readonly outputModes?: readonly string[];
}

/** An A2A extension that an agent supports (A2A section 4.4.4). */
export interface AgentExtension {
  readonly uri: string;
  readonly description?: string;
  /** A request that does not name the extension is rejected. */
  readonly required?: boolean;
  readonly params?: JsonObject;
}

/** The properties of an agent that the server knows without running it. */
export interface AgentProfile {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly skills: readonly AgentSkill[];
  /** Media types that the agent accepts; a pattern such as `text/*` or `*` matches several. */
  readonly inputModes: readonly string[];
  readonly outputModes: readonly string[];
  readonly extensions: readonly AgentExtension[];
  readonly retry: RetryPolicy;
  /** Maximum number of concurrent runs in one process; absent: the limit of the process. */
  readonly concurrency?: number;
  /** `off`: a reused messageId is a new message, for agents whose clients reuse ids. */
  readonly idempotency: 'on' | 'off';
}
