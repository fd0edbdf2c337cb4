import type { Actor, Fence, RecordedEvent, TaskState, TraceContext } from '@app/domain';
import type { WebhookRows, TaskHead } from '@app/storage';

/** Proof that a caller's message was received: the task that it was added to, and the fingerprint of its command. */
export interface Receipt {
  readonly taskId: string;
  readonly fingerprint: Buffer;
}

/** The changes of the read models for an append. The projector in `libs/tasks` creates them. */
export interface ReadModelRows {
  readonly messages?: readonly { version: number; role: string; bytes: number }[];
  readonly chunks?: readonly {
    version: number;
    run_id: string;
    artifact_id: string;
    append: boolean;
    parts: number;
    bytes: number;
  }[];
  readonly lostRuns?: readonly string[];
  /** The queue row after the append; null if the task has no run to execute. */
  readonly queue: {
    readonly agent: string;
    readonly ring: string;
    readonly dispatcherGeneration: number;
    readonly leaseGeneration: number;
    readonly attempts: number;
    readonly queuedAt: string;
    readonly notBefore: string | null;
    readonly runId: string | null;
    readonly worker: string | null;
    readonly cancelDeadline: string | null;
  } | null;
}

/** An append to one stream. */
export interface Append {
  readonly tenantId: string;
  readonly taskId: string;
  /** The head on which the events were decided; null for a new stream. Its version is the expected version. */
  readonly head: TaskHead | null;
  /** The new events at their positions. Their ids derive from the command id. */
  readonly events: readonly RecordedEvent[];
  /** The id of the event that caused each of them. Null: a command of a client did. */
  readonly causes: readonly (string | null)[];
  /** The state after the events. */
  readonly state: TaskState;
  readonly rows: ReadModelRows;
  /** Absent if the task has no webhooks. */
  readonly webhookRows?: WebhookRows;
  /** RFC 3339, UTC, milliseconds. */
  readonly recordedAt: string;
  readonly actor: Actor;
  /** A repeated command has the same id, so it has the same event ids and cannot be recorded twice. */
  readonly commandId: string;
  /** HMAC of the command's payload. The same command id with a different fingerprint is a conflict. */
  readonly fingerprint: Buffer;
  /** The append is rejected as `fenced` unless the queue row still has these values. */
  readonly fence?: Fence;
  /** Set for a client's message. The combination of tenant, subject and message id can be received once. */
  readonly receipt?: { readonly subject: string; readonly messageId: string };
  readonly protocolVersion?: string;
  readonly trace?: TraceContext;
  /** The duration of the lease if one of the events is `RunStarted`. */
  readonly leaseMs: number;
}

/** The result of an append. Only `appended` has changed anything. */
export type AppendResult =
  | { readonly outcome: 'appended'; readonly head: TaskHead; readonly events: readonly RecordedEvent[] }
  /** The log already contains this command, with the same or a different payload. */
  | { readonly outcome: 'recorded'; readonly fingerprint: Buffer }
  /** The head is not current: load it and decide again. */
  | { readonly outcome: 'conflict' }
  /** The run has lost its lease. */
  | { readonly outcome: 'fenced' }
  /** The message was received before. */
  | { readonly outcome: 'received'; readonly receipt: Receipt }
  /** The context of the new task belongs to a different ring. */
  | { readonly outcome: 'other-ring' };
