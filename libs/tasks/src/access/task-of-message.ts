import { invalidField, type Message, type Principal, taskNotFound } from '@app/domain';
import type { AccessedTask, TaskAccess } from './task-access.js';

interface SentMessage {
  readonly message: Message;
  readonly taskId?: string;
  readonly agent?: string;
}

/**
 * Returns the task that a message continues, with the receipt of the message, or null for a new task. One statement finds it and
 * every task that the message references. Errors: InvalidParameters, if the caller cannot access a reference; TaskNotFound.
 */
export async function taskOfMessage(
  access: TaskAccess,
  principal: Principal,
  { taskId, message, agent }: SentMessage,
): Promise<AccessedTask | null> {
  const { messageId, referenceTaskIds = [] } = message;
  const taskIds = [...(taskId === undefined ? [] : [taskId]), ...referenceTaskIds];
  if (taskIds.length === 0) return null;
  const tasks = await access.find(principal, 'SendMessage', { taskIds, agent, messageId });
  const found = new Map(tasks.map((task) => [task.taskId, task]));
  const missing = referenceTaskIds.findIndex((id) => !found.has(id));
  if (missing >= 0) {
    throw invalidField(
      `message.referenceTaskIds[${missing}]`,
      `task "${referenceTaskIds[missing]}" was not found; reference tasks of the caller only`,
    );
  }
  if (taskId === undefined) return null;
  const task = found.get(taskId);
  if (task === undefined) throw taskNotFound(taskId);
  return task;
}
