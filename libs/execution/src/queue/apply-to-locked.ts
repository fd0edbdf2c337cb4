import type { Actor, RecordedEvent, TaskCommand } from '@app/domain';
import type { Database, Executor, TaskHead } from '@app/storage';
import { newInternalCommand, type TaskWriter } from '@app/tasks';
import type { LockedTask } from './run-queue.js';

/** A task after an append: its new head, and the events of the append. */
export interface AppliedTask {
  readonly tenantId: string;
  readonly taskId: string;
  readonly head: TaskHead;
  readonly events: readonly RecordedEvent[];
}

export interface LockedCommand {
  /** Names the command in the event log. */
  readonly name: string;
  readonly actor: Actor;
  /** Locks the queue rows of the tasks. */
  readonly lock: (executor: Executor) => Promise<readonly LockedTask[]>;
  /** Null: the task stays as it is. */
  readonly commandFor: (task: LockedTask) => TaskCommand | null;
}

/** Applies one command to each task that `lock` returns, in one transaction, and publishes the events after the commit. */
export async function applyToLocked(
  database: Database,
  writer: TaskWriter,
  { name, actor, lock, commandFor }: LockedCommand,
): Promise<{ readonly locked: number; readonly applied: readonly AppliedTask[] }> {
  const result = await database.transaction(async (executor) => {
    const tasks = await lock(executor);
    const applied: AppliedTask[] = [];
    for (const task of tasks) {
      const command = commandFor(task);
      if (command === null) continue;
      const { tenantId, taskId, head } = task;
      const envelope = { tenantId, taskId, actor, ...newInternalCommand(name) };
      const appended = await writer.applyLocked(envelope, command, head, executor);
      if (appended !== null) applied.push({ tenantId, taskId, head: appended.head, events: appended.events });
    }
    return { locked: tasks.length, applied };
  });
  for (const task of result.applied) writer.publish(task, task);
  return result;
}
