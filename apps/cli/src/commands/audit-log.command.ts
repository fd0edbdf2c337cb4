import { type AuditEntry, AuditLog } from '@app/access';
import { Command } from 'commander';
import { instant, integerBetween, JSON_OPTION, type OutputOptions, TENANT_OPTION } from '../options.js';
import { print, sanitizeForTerminal, table } from '../output/terminal.js';
import { operatorOf, withConnection } from '../session/database-session.js';
import { requireTask } from '../session/require-task.js';

interface LogOptions extends OutputOptions {
  readonly tenant: string;
  readonly task?: string;
  readonly actor?: string;
  readonly type?: string;
  readonly since?: string;
  readonly until?: string;
  readonly after?: string;
  readonly limit: number;
}

/** Creates the command that lists the audit log of a tenant. */
export function auditLogCommand(): Command {
  return new Command('log')
    .description('List the audit log of a tenant, newest first: changes of keys, and access to tasks of other users.')
    .option(...TENANT_OPTION)
    .option('--task <id>', 'only access to this task')
    .option('--actor <subject>', 'only entries of this subject')
    .option('--type <type>', 'only entries of this type, such as TaskAccessed or KeyCreated')
    .option('--since <time>', 'only entries from this time on, such as 2026-01-31T00:00:00Z', instant)
    .option('--until <time>', 'only entries before this time', instant)
    .option('--limit <number>', 'entries per page, 1 to 1000', integerBetween(1, 1_000), 100)
    .option('--after <entry>', 'entry that the previous page ended with')
    .option(...JSON_OPTION)
    .action(list);
}

async function list({ tenant, task: taskId, limit, actor, type, since, until, after, ...output }: LogOptions) {
  const request = { taskId, actor, type, since, until, after, limit };
  const page = await withConnection(async ({ database }) => {
    const found = await AuditLog.over(database).list(operatorOf(tenant), request);
    // The entries of a task outlive it.
    if (taskId !== undefined && found.items.length === 0) await requireTask(database, { tenantId: tenant, taskId });
    return found;
  });
  const { items, nextAfter } = page;
  print(output, page, [
    ...(items.length === 0 ? ['No entries.'] : table(['TIME', 'TYPE', 'ACTOR', 'FACTS'], items.map(rowOf))),
    ...(nextAfter === null ? [] : [`Next page: --after ${nextAfter}`]),
  ]);
}

function rowOf({ recordedAt, type, actor: { subject, role }, facts, altered }: AuditEntry): string[] {
  const note = altered === true ? 'ALTERED ' : '';
  return [
    recordedAt,
    type,
    sanitizeForTerminal(`${subject} (${role})`),
    note + sanitizeForTerminal(JSON.stringify(facts)),
  ];
}
