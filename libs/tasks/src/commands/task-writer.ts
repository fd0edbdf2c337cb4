import { randomUUID } from 'node:crypto';
import {
  type Actor,
  decide,
  DomainError,
  evolveAll,
  fenced,
  type Fence,
  isQueued,
  type RecordedEvent,
  type TaskCommand,
  type TaskState,
} from '@app/domain';
import type { Append, AppendResult, EventLog, Receipt } from '@app/event-log';
import type { Executor, StreamHead, TaskWakeups, WebhookTarget } from '@app/storage';
import { projectPushes } from '../projections/push.projector.js';
import { projectRows } from '../projections/task.projector.js';

/** Where a command comes from and what makes it the same command when it is tried again. */
export interface CommandEnvelope {
  readonly tenantId: string;
  readonly taskId: string;
  readonly actor: Actor;
  readonly commandId: string;
  /** 32 bytes: an HMAC of what the command says. */
  readonly fingerprint: Buffer;
  readonly protocolVersion?: string;
  readonly traceParent?: string;
  /** The client's message that this command takes in. */
  readonly receipt?: { readonly subject: string; readonly messageId: string };
  /** Goes with a command that sets a webhook; past deciding and past the record, straight into its encrypted row. */
  readonly webhook?: WebhookTarget;
  /** A worker's right to write, checked again in the statement that appends. */
  readonly fence?: Fence;
}

export type Applied =
  | { readonly outcome: 'applied'; readonly head: StreamHead; readonly events: readonly RecordedEvent[] }
  | { readonly outcome: 'received'; readonly receipt: Receipt };

/** What an append has added to a stream, and the new end of the stream. */
export type Appended = Extract<AppendResult, { outcome: 'appended' }>;

const MAX_CONFLICTS = 20;
const NO_PAYLOAD = Buffer.alloc(32);

/** Runs commands against streams: load, decide, project, append; decide anew when another append came first. */
export class TaskWriter {
  constructor(
    private readonly log: EventLog,
    readonly wakeups: TaskWakeups,
    private readonly leaseMs: number,
    private readonly now: () => Date = () => new Date(),
  ) {}

  /** Returns the head of a task's stream, and the receipt of a caller's message if there is one. Null if there is no such task. */
  head(...of: Parameters<EventLog['head']>): ReturnType<EventLog['head']> {
    return this.log.head(...of);
  }

  /**
   * Applies one command. `known` is the head that the caller holds already (`null`: the stream is new); without it the
   * head is read first, one round trip more. Throws what `decide` throws, and Fenced when the append found the fence
   * raised.
   */
  async apply(envelope: CommandEnvelope, command: TaskCommand, known?: StreamHead | null): Promise<Applied> {
    let head = known;
    for (let conflicts = 0; conflicts < MAX_CONFLICTS; conflicts += 1) {
      head = head === undefined ? await this.load(envelope) : head;
      const prepared = this.prepare(envelope, command, head);
      if (prepared === null) return { outcome: 'applied', head: head!, events: [] };
      const result = await this.log.append(prepared);
      if (result.outcome === 'appended') {
        this.publish(envelope, result);
        return { outcome: 'applied', head: result.head, events: result.events };
      }
      if (result.outcome === 'received') return result;
      if (result.outcome === 'recorded') {
        if (!result.fingerprint.equals(envelope.fingerprint)) throw conflicting(envelope.commandId);
        return { outcome: 'applied', head: await this.load(envelope), events: [] };
      }
      if (result.outcome === 'fenced') {
        // So does a repeat, sent while the first was on its way, of the write that ended the run: that one is recorded.
        const now = await this.load(envelope);
        if (this.prepare(envelope, command, now) === null) return { outcome: 'applied', head: now, events: [] };
        throw fenced(now.state, envelope.taskId);
      }
      if (result.outcome === 'other-ring') {
        throw new DomainError('InvalidParameters', 'invalid parameters: message.contextId: belongs to another ring', {
          violations: [{ field: 'message.contextId', description: 'belongs to another ring' }],
        });
      }
      head = undefined;
    }
    throw new DomainError('Overloaded', 'too many writers on one task; try again', { retryAfterSeconds: 1 });
  }

  /**
   * Applies one command inside a transaction whose queue row is locked already, so that no other append can come
   * between. The caller publishes what comes back once it has committed.
   */
  async applyLocked(
    envelope: CommandEnvelope,
    command: TaskCommand,
    head: StreamHead,
    executor: Executor,
  ): Promise<Appended | null> {
    const prepared = this.prepare(envelope, command, head);
    if (prepared === null) return null;
    const result = await this.log.append(prepared, executor);
    if (result.outcome !== 'appended') throw new Error(`an append under its queue lock came back ${result.outcome}`);
    return result;
  }

  publish(
    task: { tenantId: string; taskId: string },
    appended: { head: StreamHead; events: readonly RecordedEvent[] },
  ) {
    const { state } = appended.head;
    this.wakeups.publish({
      tenantId: task.tenantId,
      taskId: task.taskId,
      version: state.version,
      events: appended.events,
      ...(isQueued(state) ? { queuedFor: state.agent } : {}),
      ...(state.pushConfigs === undefined ? {} : { pushes: true }),
    });
  }

  private async load({ tenantId, taskId }: CommandEnvelope): Promise<StreamHead> {
    const loaded = await this.log.head(tenantId, taskId);
    if (loaded === null) throw new DomainError('TaskNotFound', 'task not found', { taskId });
    return loaded.head;
  }

  private prepare(
    { webhook, ...envelope }: CommandEnvelope,
    command: TaskCommand,
    head: StreamHead | null,
  ): Append | null {
    const before = head?.state ?? null;
    const recordedAt = this.timeAfter(before);
    const events = decide(before, envelope.taskId, command, recordedAt);
    if (events.length === 0) return null;
    const state = evolveAll(before, events, recordedAt)!;
    const first = (before?.version ?? 0) + 1;
    const placed = events.map((event, at) => ({ ...event, version: first + at, recordedAt }));
    const pushes = projectPushes(before, placed, state, webhook);
    const rows = projectRows(placed, state);
    return { ...envelope, head, events, state, rows, pushes, recordedAt, leaseMs: this.leaseMs };
  }

  /** Now, or the time of the task's last event when this machine's clock is behind it: a record never goes back. */
  private timeAfter(state: TaskState | null): string {
    const now = this.now().toISOString();
    return state !== null && state.recordedAt > now ? state.recordedAt : now;
  }
}

/** A command id for a command that nobody retries by name. */
export const newInternalCommandId = (what: string): string => `${what}:${randomUUID()}`;

/** What names a command of Acta's own: it cannot come back, so that no payload is kept to compare. */
export const newInternalCommand = (what: string): Pick<CommandEnvelope, 'commandId' | 'fingerprint'> => ({
  commandId: newInternalCommandId(what),
  fingerprint: NO_PAYLOAD,
});

const conflicting = (commandId: string) =>
  new DomainError('CommandConflict', `command "${commandId}" is in the record with another payload`, { commandId });
