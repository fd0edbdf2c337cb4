import type {
  AgentExtension,
  AgentSkill,
  ArtifactContent,
  JsonObject,
  Message,
  MessageRequest,
  Part,
  RetryPolicy,
  UpstreamTask,
  // By path, so that the types resolve outside of the repository, too.
} from '../../../domain/src/index.js';

/** What an agent module exports. It is a plain object and needs no import from Acta. */
export interface Agent {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly skills: readonly AgentSkill[];
  /** Media types that it accepts and produces; absent: any. */
  readonly inputModes?: readonly string[];
  readonly outputModes?: readonly string[];
  /** A2A extensions. Every request must name the extensions that are `required`. */
  readonly extensions?: readonly AgentExtension[];
  readonly retry?: Partial<RetryPolicy>;
  /** Maximum number of concurrent runs in one process; absent: no limit of its own. */
  readonly concurrency?: number;
  /** Maximum duration of a run in milliseconds, if it is shorter than `ACTA_RUN_TIMEOUT_MS`. */
  readonly timeoutMs?: number;
  readonly idempotency?: 'on' | 'off';
  /**
   * Executes one turn. If it returns without an outcome, the task completes. If it throws, the task fails with the error's
   * message, or the run is retried if the error has `retryable: true`. Absent: remote workers execute the agent over HTTP.
   */
  run?(ctx: AgentContext): Promise<void> | void;
  /** Called when a task with an upstream task is canceled between its turns, so that no run can cancel the upstream task. */
  onCanceled?(upstream: UpstreamTask): Promise<void>;
}

/** The address of an upstream agent. */
export interface UpstreamAddress {
  /** Its base URL, or the URL of its card. */
  readonly url: string;
  /** Its bearer token. */
  readonly token?: string;
}

/** The reason of a `signal` that aborts because of a cancel. The run can still end itself, until the cancel deadline. */
export class CancelRequested extends Error {}

/** The reason of a `signal` that aborts because the run has reached its time limit. It can still end itself for 5 s. */
export class RunTimeout extends Error {}

/** A message from an agent: a text, parts, or parts with metadata. */
export type MessageInput =
  | string
  | readonly Part[]
  | { readonly parts: readonly Part[]; readonly metadata?: JsonObject; readonly extensions?: string[] };

export interface ArtifactInput extends Omit<ArtifactContent, 'parts'> {
  /** Absent: `artifact`. */
  readonly id?: string;
  readonly parts: readonly Part[];
  /** Absent: the first publish of an id in a run starts the artifact, and later ones append. `false` replaces the artifact. */
  readonly append?: boolean;
  readonly last?: boolean;
}

/**
 * The turn that an agent executes. Outputs are recorded in the order of the calls, under the lease of the run. The promise
 * of an output resolves when the output is buffered (a full buffer delays it), and that of an outcome when it is recorded.
 * After the first outcome every further output is rejected. If the run loses its lease, outputs are rejected with a Fenced
 * error, and `signal` aborts.
 */
export interface AgentContext {
  readonly task: {
    readonly tenant: string;
    readonly id: string;
    readonly contextId: string;
    readonly ring: string;
    readonly owner: string;
  };
  /** The message that this turn processes: the newest message of the client. */
  readonly message: Message;
  /** All other messages, oldest first. The last ones are those that the agent has sent in this turn. */
  readonly history: readonly Message[];
  /** The text parts of the message, joined by line breaks. */
  readonly text: string;
  /** The metadata of the message. */
  readonly metadata: JsonObject;
  /**
   * The request that brought the message: its own metadata, the response configuration that the client wants, the extensions
   * that it named, the A2A version, and the client. `trace` is the trace context of this turn, which after a resume is that of
   * the resume.
   */
  readonly request: MessageRequest;
  /** Returns the request that brought a message of `message`, `history` or `messages()`. Null for a message of the agent. */
  requestOf(message: Message): MessageRequest | null;
  readonly signal: AbortSignal;
  /** 1 for the first attempt of a turn. */
  readonly attempt: number;
  readonly lease: {
    readonly runId: string;
    readonly worker: string;
    readonly leaseGeneration: number;
    readonly dispatcherGeneration: number;
  };
  /** The upstream task that earlier runs have recorded; null if there is none. */
  readonly upstream: UpstreamTask | null;
  /** Records the upstream task for later runs and turns. */
  attach(upstream: UpstreamTask): Promise<void>;
  working(message?: MessageInput): Promise<void>;
  artifact(artifact: ArtifactInput): Promise<void>;
  requireInput(message: MessageInput): Promise<void>;
  requireAuth(message: MessageInput): Promise<void>;
  complete(message?: MessageInput): Promise<void>;
  fail(message: MessageInput): Promise<void>;
  reject(message: MessageInput): Promise<void>;
  /** Ends the task as canceled, because the upstream task was canceled. */
  cancel(message?: MessageInput): Promise<void>;
  /** Sends a direct message response. The client gets no task. */
  reply(parts: MessageInput): Promise<void>;
  /** Yields the messages that arrive during the run. Ends when the run ends. */
  messages(): AsyncIterable<Message>;
}
