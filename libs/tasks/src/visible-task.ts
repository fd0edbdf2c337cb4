import { canSee, type Principal, taskNotFound } from '@app/domain';
import type { AccessRecord } from './access-record.js';
import type { TaskReader, TaskRow } from './task-reader.js';

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
  if (row === undefined || !canSee(principal, { tenantId, ...row.state })) throw taskNotFound(taskId);
  await access.note(principal, 'TaskRead', taskId, row.state);
  return row;
}
