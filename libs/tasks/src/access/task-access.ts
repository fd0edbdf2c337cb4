import { canAccess, type Principal, taskNotFound, type TaskState } from '@app/domain';
import type { TaskWriter } from '../commands/task-writer.js';
import type { TaskReader, TaskRow } from '../queries/task-reader.js';
import type { AccessAudit } from './access-audit.js';

/** The id of a task. With `agent`, a task of a different agent counts as missing. */
export interface ScopedTask {
  readonly taskId: string;
  readonly agent?: string;
}

/** Returns whether the caller can access a task. With `agent`, only tasks of that agent. The list query has the same rule in SQL. */
export const canAccessTask = (principal: Principal, state: TaskState, agent?: string): boolean =>
  (agent === undefined || state.agent === agent) && canAccess(principal, { ...state, tenantId: principal.tenantId });

/**
 * Returns the stream head of a task that the caller can access, and the receipt of `message` if the task has received it.
 * Errors: TaskNotFound, also for an execution that ended with a direct message response.
 */
export async function requireHead(
  writer: TaskWriter,
  principal: Principal,
  { taskId, agent }: ScopedTask,
  message?: Parameters<TaskWriter['head']>[2],
): Promise<NonNullable<Awaited<ReturnType<TaskWriter['head']>>>> {
  const loaded = await writer.head(principal.tenantId, taskId, message);
  if (
    loaded === null ||
    loaded.head.state.status === 'replied' ||
    !canAccessTask(principal, loaded.head.state, agent)
  ) {
    throw taskNotFound(taskId);
  }
  return loaded;
}

/**
 * Returns the row of a task that the caller can access. Errors: TaskNotFound, also for an execution that ended with a
 * direct message response, unless `replied` includes those.
 */
export async function requireRow(
  reader: TaskReader,
  principal: Principal,
  { taskId, agent }: ScopedTask,
  { replied }: { readonly replied: boolean },
): Promise<TaskRow> {
  const [row] = await reader.rows(principal.tenantId, [taskId]);
  if (row === undefined || !canAccessTask(principal, row.state, agent)) throw taskNotFound(taskId);
  if (row.state.status === 'replied' && !replied) throw taskNotFound(taskId);
  return row;
}

/** Returns the row of a task for the native API, which also shows direct message responses. Records the read of an admin. */
export async function requireRowAndRecordAccess(
  principal: Principal,
  taskId: string,
  { reader, access }: { readonly reader: TaskReader; readonly access: AccessAudit },
): Promise<TaskRow> {
  const row = await requireRow(reader, principal, { taskId }, { replied: true });
  await access.record(principal, 'TaskRead', taskId, row.state);
  return row;
}
