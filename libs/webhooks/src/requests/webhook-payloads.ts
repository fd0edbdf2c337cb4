import { evolve, type Message, type RecordedEvent, type TaskState } from '@app/domain';
import { TaskReader } from '@app/tasks';
import { type A2aCodec, type StreamUpdate, updatesOf } from '@app/wire';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';

/** Tasks whose last state is kept, so that the next event of the task does not fold all earlier ones again. */
const MAX_STATES = 2_000;

interface Task {
  readonly tenantId: string;
  readonly taskId: string;
}

/**
 * Creates the payload of a delivery from one event. The status is that of the event and not the current one, so it is folded
 * from the facts up to the event instead of read from the task's row.
 */
@Injectable()
export class WebhookPayloads {
  private readonly states = new LRUCache<string, TaskState>({ max: MAX_STATES });

  constructor(private readonly reader: TaskReader) {}

  /** Returns the update of one version, or null if its content was erased or cannot be read. */
  async updateOf(task: Task, version: number, payload: A2aCodec['webhook']['payload']): Promise<StreamUpdate | null> {
    const { tenantId, taskId } = task;
    const before = await this.stateBefore(task, version);
    const [event] = await this.reader.events(tenantId, taskId, version - 1, 1);
    if (event === undefined || event.missing !== undefined) return null;
    const after = evolve(before, event, event);
    this.states.set(keyOf(task), after);
    const [update] = updatesOf(event, before, after, taskId);
    if (update === undefined) return null;
    return payload === 'update' || update.type === 'message' ? update : this.completeTask(task, event, after);
  }

  /**
   * Returns the whole task with the status of the event. Its artifacts are the current ones: an artifact that was published
   * after the event can already be included, and is sent again with its own event.
   */
  private async completeTask(task: Task, event: RecordedEvent, state: TaskState): Promise<StreamUpdate | null> {
    const view = await this.reader.view(task.tenantId, task.taskId, { artifacts: true, historyLength: 0 });
    if (view === null) return null;
    const { statusMessage: _current, ...rest } = view;
    const message = await this.statusMessageOf(task, event, state);
    return {
      type: 'task',
      view: { ...rest, state, history: [], ...(message === undefined ? {} : { statusMessage: message }) },
    };
  }

  private async statusMessageOf({ tenantId, taskId }: Task, event: RecordedEvent, { statusMessage }: TaskState) {
    if (statusMessage === null) return undefined;
    if (statusMessage === event.version) return event.content?.message;
    const [source] = await this.reader.events(tenantId, taskId, statusMessage - 1, 1);
    return source?.content?.message satisfies Message | undefined;
  }

  private async stateBefore(task: Task, version: number): Promise<TaskState | null> {
    if (version === 1) return null;
    const kept = this.states.get(keyOf(task));
    const from = kept !== undefined && kept.version < version ? kept : null;
    return this.reader.stateAt(task.tenantId, task.taskId, version - 1, from);
  }
}

const keyOf = ({ tenantId, taskId }: Task): string => `${tenantId}\n${taskId}`;
