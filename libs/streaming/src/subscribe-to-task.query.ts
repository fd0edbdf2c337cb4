import {
  DomainError,
  evolve,
  hasOutcome,
  invalidField,
  isTerminal,
  canStillReply,
  type Principal,
  type RecordedEvent,
  taskNotFound,
  type TaskState,
  type TaskView,
} from '@app/domain';
import { TaskWakeups } from '@app/storage';
import { followTask, isThere, TaskReader, type TaskRow } from '@app/tasks';
import { type StreamUpdate, updatesOf } from '@app/wire';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';

/** One frame of a stream: `id` is the task version that it stands for, and what a client resumes after. */
export interface StreamFrame {
  readonly id: number;
  readonly update: StreamUpdate;
}

/** A stream that may be opened: whose task it is, and its frames from then on. */
export interface TaskStream {
  readonly task: { readonly taskId: string; readonly tenantId: string; readonly owner: string; readonly ring: string };
  frames(signal: AbortSignal): AsyncGenerator<StreamFrame>;
}

export interface StreamOptions {
  /** `turn`: ends when the task ends or asks for something; `end`: only when it ends. */
  readonly until: 'turn' | 'end';
  /** Messages in the snapshot's history; absent: all within the bounds. */
  readonly historyLength?: number;
}

/**
 * A live task from its snapshot on. With `lastEventId` the snapshot is the task as of that version, so that a client that
 * comes back misses nothing, on any replica, also when the task ended meanwhile.
 *
 * Errors: TaskNotFound, also for a task that is not of `agent`; TaskEnded when nothing is to come; InvalidParameters for an
 * id that is no version of the task.
 */
export class SubscribeToTask extends Query<TaskStream> {
  constructor(
    readonly principal: Principal,
    readonly taskId: string,
    readonly options: StreamOptions & { readonly lastEventId?: string; readonly agent?: string },
  ) {
    super();
  }
}

@QueryHandler(SubscribeToTask)
export class SubscribeToTaskHandler implements IQueryHandler<SubscribeToTask> {
  constructor(
    private readonly wakeups: TaskWakeups,
    private readonly reader: TaskReader,
  ) {}

  async execute({ principal, taskId, options }: SubscribeToTask): Promise<TaskStream> {
    const { tenantId } = principal;
    const [row] = await this.reader.rows(tenantId, [taskId]);
    if (row === undefined || row.state.status === 'replied' || !isThere(principal, row.state, options.agent)) {
      throw taskNotFound(taskId);
    }
    const from = options.lastEventId === undefined ? null : versionOf(options.lastEventId, row.state);
    if (isTerminal(row.state.status) && (from ?? row.state.version) >= row.state.version) {
      throw new DomainError('TaskEnded', `the task is ${row.state.status}: nothing more comes of it; get it instead`, {
        taskId,
        status: row.state.status,
      });
    }
    const state = from === null ? row.state : ((await this.reader.stateAt(tenantId, taskId, from)) ?? row.state);
    return this.streamFrom(tenantId, { ...row, state }, options);
  }

  /**
   * A stream from a state that the caller may see: a send's own stream starts so. With `view`, the task at that state, its
   * snapshot costs no read.
   */
  streamFrom(tenantId: string, start: TaskRow, options: StreamOptions, view: TaskView | null = null): TaskStream {
    const { taskId, state } = start;
    const { owner, ring } = state;
    return {
      task: { taskId, tenantId, owner, ring },
      frames: (signal) => this.frames(tenantId, start, options, view, signal),
    };
  }

  private async *frames(
    tenantId: string,
    start: TaskRow,
    { until, historyLength }: StreamOptions,
    known: TaskView | null,
    signal: AbortSignal,
  ): AsyncGenerator<StreamFrame> {
    const { taskId } = start;
    let { state } = start;
    if (state.status === 'replied') {
      yield* this.reply(tenantId, start);
      return;
    }
    const over = () => (until === 'turn' ? hasOutcome(state) : isTerminal(state.status));
    const snapshot = async (): Promise<StreamFrame> => {
      const bound = historyLength === undefined ? {} : { historyLength };
      const view = known ?? (await this.reader.views(tenantId, [start], { artifacts: true, ...bound }))[0];
      return { id: start.state.version, update: { type: 'task', view: view!, ...bound } };
    };
    let held: RecordedEvent[] | null = canStillReply(state) ? [] : null;
    if (held === null) {
      yield await snapshot();
      if (over()) return;
    }
    const after = { tenantId, taskId, after: state.version };
    for await (const events of followTask({ reader: this.reader, wakeups: this.wakeups }, after, signal)) {
      for (const event of events) {
        if (held !== null) {
          // Events that settle nothing wait with the snapshot: if a bare reply comes, they were never sent.
          if (event.type !== 'ReplySent' && canStillReply(evolve(stateAfter(state, held), event, event))) {
            held.push(event);
            continue;
          }
          if (event.type !== 'ReplySent') {
            yield await snapshot();
            for (const earlier of held) {
              yield* framesOf(earlier, state, taskId);
              state = evolve(state, earlier, earlier);
            }
          } else state = stateAfter(state, held);
          held = null;
        }
        yield* framesOf(event, state, taskId);
        state = evolve(state, event, event);
        if (over()) return;
      }
    }
  }

  private async *reply(tenantId: string, row: TaskRow): AsyncGenerator<StreamFrame> {
    const [view] = await this.reader.views(tenantId, [row], { artifacts: false, historyLength: 0 });
    const message = view?.statusMessage;
    if (message === undefined) return;
    const ids = { taskId: row.taskId, contextId: row.state.contextId };
    yield { id: row.state.version, update: { type: 'message', ids, message } };
  }
}

const stateAfter = (state: TaskState, events: readonly RecordedEvent[]): TaskState =>
  events.reduce<TaskState>((current, event) => evolve(current, event, event), state);

function framesOf(event: RecordedEvent, before: TaskState, taskId: string): StreamFrame[] {
  const after = evolve(before, event, event);
  return updatesOf(event, before, after, taskId).map((update) => ({ id: event.version, update }));
}

/** The version that a `Last-Event-ID` names. */
function versionOf(lastEventId: string, state: TaskState): number {
  const version = /^[1-9]\d{0,9}$/.test(lastEventId) ? Number(lastEventId) : NaN;
  if (!(version <= state.version)) {
    throw invalidField('Last-Event-ID', 'must be the id of an event that this task has had');
  }
  return version;
}
