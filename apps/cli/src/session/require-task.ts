import { isUuid } from '@app/domain';
import type { Database } from '@app/storage';

/** Throws unless the task exists, in the tenant if one is given. A corrupt task can lack either its events or its row. */
export async function requireTask(
  { kysely }: Database,
  { tenantId, taskId }: { readonly tenantId?: string; readonly taskId: string },
): Promise<void> {
  const inTable = (table: 'event' | 'task') =>
    kysely
      .selectFrom(table)
      .select('task_id')
      .where('task_id', '=', taskId)
      .$if(tenantId !== undefined, (query) => query.where('tenant_id', '=', tenantId!))
      .limit(1)
      .executeTakeFirst();
  if (isUuid(taskId) && ((await inTable('task')) ?? (await inTable('event'))) !== undefined) return;
  throw taskNotFound(taskId, tenantId);
}

export const taskNotFound = (taskId: string, tenantId?: string): Error =>
  new Error(
    `task ${taskId} not found${tenantId === undefined ? '' : ` in tenant ${tenantId}`}: \`acta tasks list\` lists the tasks of a tenant`,
  );

/** Throws unless the tenant has a task. */
export async function requireTenant({ kysely }: Database, tenantId: string): Promise<void> {
  const found = await kysely
    .selectFrom('task')
    .select('task_id')
    .where('tenant_id', '=', tenantId)
    .limit(1)
    .executeTakeFirst();
  if (found === undefined) throw tenantWithoutTasks(tenantId);
}

export const tenantWithoutTasks = (tenantId: string): Error =>
  new Error(`tenant ${tenantId} has no tasks: use the tenant of a key that \`acta keys list\` shows`);
