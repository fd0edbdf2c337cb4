import { canSee, type Principal, taskNotFound, type TaskState } from '@app/domain';
import type { AccessRecord } from './access-record.js';
import type { TaskReader, TaskRow } from '../queries/task-reader.js';

/**
 * Whether a task is there for this caller: one that it can see and, where an agent's own door was asked, one of that
 * agent's. The same rule stands in SQL in the list query.
 */
export const isThere = (principal: Principal, state: TaskState, agent?: string): boolean =>
  (agent === undefined || state.agent === agent) && canSee(principal, { ...state, tenantId: principal.tenantId });

/**
 * The row of a task that the caller may read, in the native API's view: bare replies too. An admin's look at someone
 * else's task is recorded. Errors: TaskNotFound, the same for a missing task and for one that is not to be seen.
 */
export async function visibleTask(
  principal: Principal,
  taskId: string,
  { reader, access }: { readonly reader: TaskReader; readonly access: AccessRecord },
): Promise<TaskRow> {
  const { tenantId } = principal;
  const [row] = await reader.rows(tenantId, [taskId]);
  if (row === undefined || !isThere(principal, row.state)) throw taskNotFound(taskId);
  await access.note(principal, 'TaskRead', taskId, row.state);
  return row;
}
