import type { Actor, Fence, RecordedEvent, TaskEvent, TaskState } from '@app/domain';
import type { PushRows, StreamHead } from '@app/storage';

export interface Receipt {
  readonly taskId: string;
  readonly fingerprint: Buffer;
}

/** Rows of the read models that change with an append; the projector of `libs/tasks` makes them. */
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
  /** The queue row as it must be; null when nothing is left to execute. */
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

export interface Append {
  readonly tenantId: string;
  readonly taskId: string;
  /** The head that the events were decided on; null for a new stream. Its version is the expected version. */
  readonly head: StreamHead | null;
  readonly events: readonly TaskEvent[];
  /** The state after the events. */
  readonly state: TaskState;
  readonly rows: ReadModelRows;
  /** Absent when the task has no webhooks. */
  readonly pushes?: PushRows;
  /** RFC 3339, UTC, milliseconds. */
  readonly recordedAt: string;
  readonly actor: Actor;
  /** Derives the event ids, so that a retried command cannot be recorded twice. */
  readonly commandId: string;
  /** HMAC of the command's payload: the same command id with another one is a conflict. */
  readonly fingerprint: Buffer;
  /** As the queue row must still have it at the moment of the append. */
  readonly fence?: Fence;
  /** Set for a client's message: its (tenant, subject, messageId) can be taken once. */
  readonly receipt?: { readonly subject: string; readonly messageId: string };
  readonly causationId?: string;
  readonly protocolVersion?: string;
  readonly traceParent?: string;
  /** Length of the lease that a `RunStarted` among the events begins. */
  readonly leaseMs: number;
}

export type AppendResult =
  | { readonly outcome: 'appended'; readonly head: StreamHead; readonly events: readonly RecordedEvent[] }
  /** This command is in the log already, perhaps with another payload. */
  | { readonly outcome: 'recorded'; readonly fingerprint: Buffer }
  /** Another append came first: load the head again and decide anew. */
  | { readonly outcome: 'conflict' }
  | { readonly outcome: 'fenced' }
  /** The message was received before. */
  | { readonly outcome: 'received'; readonly receipt: Receipt }
  | { readonly outcome: 'other-ring' };
