import { randomUUID } from 'node:crypto';
import {
  type Actor,
  Clock,
  decide,
  DomainError,
  eventIdOf,
  fenced,
  type Fence,
  invalidField,
  isQueued,
  positionEvents,
  type Principal,
  type RecordedEvent,
  type TaskCommand,
  taskNotFound,
  type TaskState,
  type TraceContext,
  traceOf,
} from '@app/domain';
import { type Append, type AppendResult, EventLog, type Receipt } from '@app/event-log';
import { type Executor, type TaskHead, TaskWakeups, type WebhookTarget } from '@app/storage';
import { Injectable } from '@nestjs/common';
import { projectRows } from '../projections/task.projector.js';
import { projectWebhookRows } from '../projections/webhook.projector.js';

/** Identifies a command and its sender. A retry of the command has the same envelope. */
export interface CommandEnvelope {
  readonly tenantId: string;
  readonly taskId: string;
  readonly actor: Actor;
  readonly commandId: string;
  /** HMAC of the command's payload, 32 bytes. */
  readonly fingerprint: Buffer;
  readonly protocolVersion?: string;
  /** The trace context of the request. The events of a run have that of the request that the run executes. */
  readonly trace?: TraceContext;
  /** The client message that this command delivers. */
  readonly receipt?: { readonly subject: string; readonly messageId: string };
  /** The target of the webhook that this command sets. It is stored encrypted in its own table and in no event. */
  readonly webhook?: WebhookTarget;
  /** The lease of a worker. The statement that appends checks it. */
  readonly fence?: Fence;
}

/** `received`: the message of the command was recorded before, perhaps in a different task. */
export type Applied =
  | { readonly outcome: 'applied'; readonly head: TaskHead; readonly events: readonly RecordedEvent[] }
  | { readonly outcome: 'received'; readonly receipt: Receipt };

/** The events of an append and the new head of the stream. */
export type Appended = Extract<AppendResult, { outcome: 'appended' }>;

/** The duration of leases, which a module provides from the configuration. */
export abstract class LeaseOptions {
  /** How long a worker holds a run without a renewal, in milliseconds. */
  abstract readonly leaseMs: number;
}

const MAX_CONFLICTS = 20;
const NO_PAYLOAD = Buffer.alloc(32);

/** Applies commands to tasks: loads the state, decides, projects, appends. After a conflict, it loads and decides again. */
@Injectable()
export class TaskWriter {
  constructor(
    private readonly log: EventLog,
    readonly wakeups: TaskWakeups,
    private readonly lease: LeaseOptions,
    private readonly clock: Clock = new Clock(),
  ) {}

  /** Returns the head of a task's stream. Null: no such task. */
  head(...parameters: Parameters<EventLog['head']>): ReturnType<EventLog['head']> {
    return this.log.head(...parameters);
  }

  /** Returns the receipt of a caller's message, in whichever task it is. Null: the message was not received. */
  receipt(...parameters: Parameters<EventLog['receipt']>): ReturnType<EventLog['receipt']> {
    return this.log.receipt(...parameters);
  }

  /**
   * Applies one command. `known` is the head that the caller has read (`null`: the stream is new). Without it, the head is
   * read first. Errors: those of `decide`; Fenced, if the lease of the fence has ended; CommandConflict; Overloaded.
   */
  async apply(envelope: CommandEnvelope, command: TaskCommand, known?: TaskHead | null): Promise<Applied> {
    let head = known;
    for (let conflicts = 0; conflicts < MAX_CONFLICTS; conflicts += 1) {
      head = head === undefined ? await this.load(envelope) : head;
      const prepared = this.prepare(envelope, command, head);
      if (prepared === null) return { outcome: 'applied', head: head!, events: [] };
      const result = await this.log.append(prepared);
      switch (result.outcome) {
        case 'appended':
          this.publish(envelope, result);
          return { outcome: 'applied', head: result.head, events: result.events };
        case 'received':
          return result;
        case 'recorded':
          if (!result.fingerprint.equals(envelope.fingerprint)) throw commandConflict(envelope.commandId);
          return { outcome: 'applied', head: await this.load(envelope), events: [] };
        case 'fenced':
          return this.resolveFencedWrite(envelope, command);
        case 'other-ring':
          throw invalidField(
            'message.contextId',
            `"${prepared.state.contextId}" is in a different ring than "${prepared.state.ring}"; use a different context`,
          );
        case 'conflict':
          head = undefined;
          break;
        default:
          result satisfies never;
      }
    }
    throw new DomainError(
      'Overloaded',
      `task "${envelope.taskId}" has too many concurrent writers (${MAX_CONFLICTS} conflicts in a row); try again`,
      { retryAfterSeconds: 1 },
    );
  }

  /**
   * Applies one command inside a transaction that has locked the task's queue row, so that no other append can come in
   * between. The caller publishes the result after the commit.
   */
  async applyLocked(
    envelope: CommandEnvelope,
    command: TaskCommand,
    head: TaskHead,
    executor: Executor,
  ): Promise<Appended | null> {
    const prepared = this.prepare(envelope, command, head);
    if (prepared === null) return null;
    const result = await this.log.append(prepared, executor);
    if (result.outcome !== 'appended') {
      throw new Error(
        `append to task "${envelope.taskId}": outcome "${result.outcome}" under the lock of its queue row`,
      );
    }
    return result;
  }

  /** Wakes the subscribers of a task, in this process and in others. */
  publish(
    task: { readonly tenantId: string; readonly taskId: string },
    appended: { readonly head: TaskHead; readonly events: readonly RecordedEvent[] },
  ): void {
    const { state } = appended.head;
    this.wakeups.publish({
      tenantId: task.tenantId,
      taskId: task.taskId,
      version: state.version,
      events: appended.events,
      ...(isQueued(state) ? { queuedAgent: state.agent } : {}),
      ...(state.pushConfigs === undefined ? {} : { hasWebhookDeliveries: true }),
    });
  }

  /** A repeated write is fenced, too, if the first one ended the run. Then it is recorded, and the repeat succeeds. */
  private async resolveFencedWrite(envelope: CommandEnvelope, command: TaskCommand): Promise<Applied> {
    const head = await this.load(envelope);
    if (this.prepare(envelope, command, head) === null) return { outcome: 'applied', head, events: [] };
    throw fenced(head.state, envelope.taskId);
  }

  private async load({ tenantId, taskId }: CommandEnvelope): Promise<TaskHead> {
    const head = await this.log.head(tenantId, taskId);
    if (head === null) throw taskNotFound(taskId);
    return head;
  }

  private prepare(
    { webhook, ...envelope }: CommandEnvelope,
    command: TaskCommand,
    head: TaskHead | null,
  ): Append | null {
    const before = head?.state ?? null;
    const recordedAt = this.timeAfter(before);
    const { tenantId, taskId, commandId, protocolVersion } = envelope;
    const decided = decide(before, taskId, command, recordedAt);
    if (decided.length === 0) return null;
    const trace = traceOf(command, before, envelope.trace);
    // A repeated command derives the same ids, so the event log cannot record it twice.
    const eventIds = decided.map((_, ordinal) => eventIdOf(tenantId, taskId, commandId, ordinal));
    const { events, causes, after } = positionEvents(before, decided, { recordedAt, eventIds, trace, protocolVersion });
    return {
      ...envelope,
      trace,
      head,
      events,
      causes,
      state: after,
      rows: projectRows(events, after),
      webhookRows: projectWebhookRows(before, events, after, webhook),
      recordedAt,
      leaseMs: this.lease.leaseMs,
    };
  }

  /** Returns the server time, or the time of the last event if that is later: times in a stream never decrease. */
  private timeAfter(state: TaskState | null): string {
    const now = this.clock.now().toISOString();
    return state !== null && state.recordedAt > now ? state.recordedAt : now;
  }
}

/** Returns the id of a command that no client retries. */
export const newInternalCommandId = (name: string): string => `${name}:${randomUUID()}`;

/** Returns the identity of a command that is never retried by its id. No payload is kept to compare. */
export const newInternalCommand = (name: string): Pick<CommandEnvelope, 'commandId' | 'fingerprint'> => ({
  commandId: newInternalCommandId(name),
  fingerprint: NO_PAYLOAD,
});

/** Returns the envelope of a command of a caller that is not retried by its id. */
export const callerCommand = (
  { tenantId, subject, role }: Principal,
  taskId: string,
  name: string,
): CommandEnvelope => ({ tenantId, taskId, actor: { subject, role }, ...newInternalCommand(name) });

const commandConflict = (commandId: string) =>
  new DomainError(
    'CommandConflict',
    `command "${commandId}" is already recorded with a different payload; use a new command id`,
    { commandId },
  );
