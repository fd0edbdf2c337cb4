import { evolve, type Message, type RecordedEvent, type TaskState } from '@app/domain';
import type { TaskReader } from '@app/tasks';
import { type A2aCodec, type StreamUpdate, updatesOf } from '@app/wire';

/** States kept so that the next event of the same task need not fold its past anew. */
const KEPT = 2_000;

interface Task {
  readonly tenantId: string;
  readonly taskId: string;
}

/**
 * What one event tells a webhook. The status is that of the event, whatever happened since: it is folded from the facts
 * up to the event, and the task's row is not asked.
 */
export class PushUpdates {
  private readonly states = new Map<string, TaskState>();

  constructor(private readonly reader: TaskReader) {}

  /** The update of one version; null when there is nothing left to tell: its content was erased or cannot be read. */
  async at(task: Task, version: number, tells: A2aCodec['webhook']['payload']): Promise<StreamUpdate | null> {
    const { tenantId, taskId } = task;
    const before = await this.stateBefore(task, version);
    const [event] = await this.reader.events(tenantId, taskId, version - 1, 1);
    if (event === undefined || event.missing !== undefined) return null;
    const after = evolve(before, event, event);
    this.keep(task, after);
    const [update] = updatesOf(event, before, after, taskId);
    if (update === undefined) return null;
    return tells === 'update' || update.type === 'message' ? update : this.wholeTask(task, event, after);
  }

  /**
   * The whole task with the status of the event. Artifacts are those that can be read by now: what was published later may
   * be among them already, and is told again in its turn.
   */
  private async wholeTask(task: Task, event: RecordedEvent, state: TaskState): Promise<StreamUpdate | null> {
    const view = await this.reader.view(task.tenantId, task.taskId, { artifacts: true, historyLength: 0 });
    if (view === null) return null;
    const { statusMessage: _newest, ...shown } = view;
    const message = await this.statusMessageOf(task, event, state);
    return {
      type: 'task',
      view: { ...shown, state, history: [], ...(message === undefined ? {} : { statusMessage: message }) },
    };
  }

  private async statusMessageOf({ tenantId, taskId }: Task, event: RecordedEvent, { statusMessage }: TaskState) {
    if (statusMessage === null) return undefined;
    if (statusMessage === event.version) return event.content?.message;
    const [said] = await this.reader.events(tenantId, taskId, statusMessage - 1, 1);
    return said?.content?.message satisfies Message | undefined;
  }

  private async stateBefore(task: Task, version: number): Promise<TaskState | null> {
    if (version === 1) return null;
    const kept = this.states.get(keyOf(task));
    const from = kept !== undefined && kept.version < version ? kept : null;
    return this.reader.stateAt(task.tenantId, task.taskId, version - 1, from);
  }

  private keep(task: Task, state: TaskState): void {
    const key = keyOf(task);
    this.states.delete(key);
    this.states.set(key, state);
    if (this.states.size > KEPT) this.states.delete(this.states.keys().next().value!);
  }
}

const keyOf = ({ tenantId, taskId }: Task): string => `${tenantId}\n${taskId}`;
