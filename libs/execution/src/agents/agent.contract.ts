import type {
  AgentExtension,
  AgentSkill,
  ArtifactContent,
  JsonObject,
  Message,
  Part,
  RetryPolicy,
  UpstreamTask,
} from '@app/domain';

/** What an agent module exports: plain objects, no import from Acta. */
export interface Agent {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly skills: readonly AgentSkill[];
  /** Media types that it accepts and produces; default `*`, anything. */
  readonly inputModes?: readonly string[];
  readonly outputModes?: readonly string[];
  /** Extensions of A2A; one that is `required` must be named by every request. */
  readonly extensions?: readonly AgentExtension[];
  readonly retry?: Partial<RetryPolicy>;
  readonly concurrency?: number;
  readonly idempotency?: 'on' | 'off';
  /**
   * Does the work of one turn. Returning without an outcome completes the task; throwing fails it with the error's message,
   * or tries again when the error has `retryable: true`. Without it, remote workers run the agent over HTTP.
   */
  run?(ctx: AgentContext): Promise<void> | void;
  /** A task was canceled between its turns, whose work is elsewhere: that can be called off. */
  calledOff?(upstream: UpstreamTask): Promise<void>;
}

/** Where an agent is that does the work of another: its base URL, or that of its card. */
export interface UpstreamAddress {
  readonly url: string;
  /** Its bearer token. */
  readonly token?: string;
}

/** Why a `signal` aborts when the task is being canceled: the run may still end it in its own way, until the deadline. */
export class CancelRequested extends Error {}

/** What an agent may say as a message: a text, parts, or parts with metadata. */
export type Saying =
  | string
  | readonly Part[]
  | { readonly parts: readonly Part[]; readonly metadata?: JsonObject; readonly extensions?: string[] };

export interface ArtifactInput extends Omit<ArtifactContent, 'parts'> {
  /** Default: one artifact per run, `artifact`. */
  readonly id?: string;
  readonly parts: readonly Part[];
  /** Absent: the first publish of an id in a run starts it, later ones go on. `false` starts it anew. */
  readonly append?: boolean;
  readonly last?: boolean;
}

/**
 * An agent's view of its turn. Writes are recorded in the order of the calls, under the run's lease; a call resolves when
 * its write is taken over (a full buffer makes it wait), an outcome when it is in the record. After the first outcome
 * every further write is refused. A run that lost its lease gets a Fenced error, and its `signal` aborts.
 */
export interface AgentContext {
  readonly task: {
    readonly tenant: string;
    readonly id: string;
    readonly contextId: string;
    readonly ring: string;
    readonly owner: string;
  };
  /** The message that this turn answers: the newest of the client's. */
  readonly message: Message;
  /** Everything else that was said, oldest first: at its end, what the agent itself has said since. */
  readonly history: readonly Message[];
  /** The text parts of the message, joined by line breaks. */
  readonly text: string;
  readonly metadata: JsonObject;
  readonly signal: AbortSignal;
  /** 1 for the first attempt of a turn. */
  readonly attempt: number;
  readonly lease: {
    readonly runId: string;
    readonly worker: string;
    readonly leaseGeneration: number;
    readonly dispatcherGeneration: number;
  };
  /** Where another agent does the work, as this run's predecessors recorded it; null when none did. */
  readonly upstream: UpstreamTask | null;
  /** Records that, for the runs and turns that follow. */
  attach(upstream: UpstreamTask): Promise<void>;
  working(message?: Saying): Promise<void>;
  artifact(artifact: ArtifactInput): Promise<void>;
  requireInput(message: Saying): Promise<void>;
  requireAuth(message: Saying): Promise<void>;
  complete(message?: Saying): Promise<void>;
  fail(message: Saying): Promise<void>;
  reject(message: Saying): Promise<void>;
  /** Ends the task as canceled: the work was called off elsewhere. */
  cancel(message?: Saying): Promise<void>;
  /** Answers with a bare message: the client sees no task. */
  reply(parts: Saying): Promise<void>;
  /** Messages that arrive while the run works; ends when the run does. */
  messages(): AsyncIterable<Message>;
}
