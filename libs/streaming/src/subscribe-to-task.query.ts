import {
  canStillReply,
  DomainError,
  evolve,
  hasOutcome,
  invalidField,
  quoted,
  isTerminal,
  type Principal,
  type TaskState,
  type TaskView,
} from '@app/domain';
import { TaskWakeups } from '@app/storage';
import { followTask, TaskAccess, TaskReader, type TaskRow } from '@app/tasks';
import { type StreamUpdate, updatesOf } from '@app/wire';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';

/** One frame of a stream. `id` is the task version of the frame; a client resumes after it. */
export interface StreamFrame {
  readonly id: number;
  readonly update: StreamUpdate;
}

/** A stream that the caller may open: its task, and the frames from then on. */
export interface TaskStream {
  readonly task: { readonly taskId: string; readonly tenantId: string; readonly owner: string; readonly ring: string };
  frames(signal: AbortSignal): AsyncGenerator<StreamFrame>;
}

export interface StreamOptions {
  /** `turn`: the stream ends when the task ends or requires input or an authorization. `end`: only when the task ends. */
  readonly until: 'turn' | 'end';
  /** Messages in the history of the snapshot. Absent: all within the bounds. */
  readonly historyLength?: number;
}

/**
 * A stream of a task: a snapshot, then updates. With `lastEventId`, the snapshot is the task as of that version, so that a
 * client that reconnects misses nothing, on any replica, even if the task has ended.
 *
 * Errors: TaskNotFound, also for a task of an agent other than `agent`; TaskEnded, if no event follows and
 * `ended` does not request the snapshot; InvalidParameters,
 * if `lastEventId` is not a version of the task.
 */
export class SubscribeToTask extends Query<TaskStream> {
  constructor(
    readonly principal: Principal,
    readonly taskId: string,
    readonly options: StreamOptions & {
      readonly lastEventId?: string;
      readonly agent?: string;
      /** `snapshot`: the stream of a task that has ended is its snapshot. Absent: it is an error. */
      readonly ended?: 'snapshot';
    },
  ) {
    super();
  }
}

@QueryHandler(SubscribeToTask)
export class SubscribeToTaskHandler implements IQueryHandler<SubscribeToTask> {
  constructor(
    private readonly wakeups: TaskWakeups,
    private readonly reader: TaskReader,
    private readonly access: TaskAccess,
  ) {}

  async execute({ principal, taskId, options }: SubscribeToTask): Promise<TaskStream> {
    const { tenantId } = principal;
    const row = await this.access.require(principal, 'SubscribeToTask', { taskId, agent: options.agent });
    const { status, version } = row.state;
    const from = options.lastEventId === undefined ? null : versionOf(options.lastEventId, row.state);
    const needsSnapshot = options.ended === 'snapshot' && from === null;
    if (isTerminal(status) && (from ?? version) >= version && !needsSnapshot) {
      throw new DomainError('TaskEnded', `the task is ${status} and has no further events; get the task instead`, {
        taskId,
        status,
      });
    }
    const state = from === null ? row.state : ((await this.reader.stateAt(tenantId, taskId, from)) ?? row.state);
    return this.streamFrom(tenantId, { ...row, state }, options);
  }

  /**
   * Returns a stream from a state that the caller may see. The stream of a send starts at its message. `view` is the task
   * at that state, if the caller has it; then the snapshot costs no read.
   */
  streamFrom(tenantId: string, start: TaskRow, options: StreamOptions, view: TaskView | null = null): TaskStream {
    const { taskId, state } = start;
    const { owner, ring } = state;
    return {
      task: { taskId, tenantId, owner, ring },
      frames: (signal) =>
        state.status === 'replied'
          ? this.directMessage(tenantId, start)
          : this.frames(tenantId, start, options, view, signal),
    };
  }

  private async *frames(
    tenantId: string,
    start: TaskRow,
    options: StreamOptions,
    view: TaskView | null,
    signal: AbortSignal,
  ): AsyncGenerator<StreamFrame> {
    const { taskId } = start;
    let { state } = start;
    const isOver = () => (options.until === 'turn' ? hasOutcome(state) : isTerminal(state.status));
    // A direct message response is not a task. While one is possible, the snapshot and the updates are not sent.
    let pending: StreamFrame[] | null = canStillReply(state) ? [] : null;
    if (pending === null) {
      yield await this.snapshot(tenantId, start, options, view);
      if (isOver()) return;
    }
    const source = { reader: this.reader, wakeups: this.wakeups };
    for await (const events of followTask(source, { tenantId, taskId, after: state.version }, signal)) {
      for (const event of events) {
        const before = state;
        state = evolve(before, event, event);
        const frames = updatesOf(event, before, state, taskId).map((update) => ({ id: event.version, update }));
        if (pending !== null && canStillReply(state)) {
          pending.push(...frames);
          continue;
        }
        if (pending !== null && event.type !== 'ReplySent') {
          yield await this.snapshot(tenantId, start, options, view);
          yield* pending;
        }
        pending = null;
        yield* frames;
        if (isOver()) return;
      }
    }
  }

  private async snapshot(
    tenantId: string,
    start: TaskRow,
    { historyLength }: StreamOptions,
    known: TaskView | null,
  ): Promise<StreamFrame> {
    const bound = historyLength === undefined ? {} : { historyLength };
    const view = known ?? (await this.reader.views(tenantId, [start], { artifacts: true, ...bound }))[0]!;
    return { id: start.state.version, update: { type: 'task', view, ...bound } };
  }

  private async *directMessage(tenantId: string, row: TaskRow): AsyncGenerator<StreamFrame> {
    const [view] = await this.reader.views(tenantId, [row], { artifacts: false, historyLength: 0 });
    const message = view?.statusMessage;
    if (message === undefined) return;
    const ids = { taskId: row.taskId, contextId: row.state.contextId };
    yield { id: row.state.version, update: { type: 'message', ids, message } };
  }
}

/** Returns the version that a `Last-Event-ID` names. */
function versionOf(lastEventId: string, state: TaskState): number {
  const version = /^[1-9]\d{0,9}$/.test(lastEventId) ? Number(lastEventId) : NaN;
  if (!(version <= state.version)) {
    throw invalidField('Last-Event-ID', `${quoted(lastEventId)} is not the id of an event of this task`);
  }
  return version;
}
