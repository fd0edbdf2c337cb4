import { formatCount, pluralize } from '@app/domain';
import type { Storage } from '@app/storage';
import { CorruptStream, Projections, type RowDifference, type TaskRef } from '@app/tasks';
import { Command } from 'commander';
import { CheckFailed } from '../exit.js';
import { JSON_OPTION, type OutputOptions } from '../options.js';
import { Progress } from '../output/progress.js';
import { print, sanitizeForTerminal } from '../output/terminal.js';
import { withStorage } from '../session/database-session.js';
import { requireTask } from '../session/require-task.js';

interface ProjectionOptions extends OutputOptions {
  readonly tenant?: string;
  readonly task?: string;
}

/** Creates the commands for the read models, which can be rebuilt from the event log at any time. */
export function projectionsCommand(): Command {
  const projections = new Command('projections').description(
    'Check the read models, or rebuild them from the event log.',
  );
  const commands = [
    ['check', 'Compare the rows of each task with its events and report each difference.'],
    ['rebuild', 'Rebuild the rows of each task from its events. Servers can run meanwhile.'],
  ] as const;
  for (const [name, description] of commands) {
    projections
      .command(name)
      .description(description)
      .option('--task <id>', 'only this task')
      .option('--tenant <tenant>', 'tenant of the task that --task selects (default: "default")')
      .option(...JSON_OPTION)
      .action((options: ProjectionOptions) => checkOrRebuild(name, options));
  }
  return projections;
}

/** Prints each difference and each corrupt task, then the counts; with `--json`, one object per line. */
async function checkOrRebuild(operation: 'check' | 'rebuild', options: ProjectionOptions): Promise<void> {
  if (options.tenant !== undefined && options.task === undefined) {
    throw new Error('--tenant selects the tenant of --task: add --task, or omit --tenant to select every task');
  }
  const counts = { tasks: 0, differing: 0, corrupt: 0 };
  await withStorage(async (storage, { config, signal }) => {
    const { tenant = 'default', task } = options;
    if (task !== undefined) await requireTask(storage.database, { tenantId: tenant, taskId: task });
    const projections = Projections.create(storage, config.leaseMs);
    const progress = new Progress('task', await countTasks(storage, options), options);
    for await (const task of tasksOf(projections, options)) {
      signal.throwIfAborted();
      const result = await catchCorruptStream(() => projections[operation](task));
      counts.tasks += 1;
      progress.advance(1);
      if (result instanceof CorruptStream) {
        counts.corrupt += 1;
        progress.clear();
        print(options, { ...task, corrupt: result.message }, [`CORRUPT  ${sanitizeForTerminal(result.message)}`]);
      } else if (result.length > 0) {
        counts.differing += 1;
        progress.clear();
        for (const difference of result) print(options, difference, [describeDifference(difference)]);
      }
    }
    progress.clear();
  });
  const { tasks, differing, corrupt } = counts;
  const done = formatCount(tasks - corrupt, 'task');
  const found = differing === 0 ? 'no differences' : `differences in ${formatCount(differing, 'task')}`;
  const verb = operation === 'check' ? 'Checked' : 'Rebuilt';
  const skipped = corrupt === 0 ? '' : `; skipped ${corrupt} corrupt ${pluralize('task', corrupt)}`;
  print(options, counts, [`${verb} ${done}: ${found}${skipped}.`]);
  if (corrupt > 0 || (operation === 'check' && differing > 0)) throw new CheckFailed();
}

async function* tasksOf(
  projections: Projections,
  { tenant = 'default', task }: ProjectionOptions,
): AsyncGenerator<TaskRef> {
  if (task === undefined) yield* projections.tasks();
  else yield { tenantId: tenant, taskId: task };
}

async function countTasks({ database }: Storage, { task }: ProjectionOptions): Promise<number> {
  if (task !== undefined) return 1;
  const { count } = await database.kysely
    .selectFrom('task')
    .select((eb) => eb.fn.countAll<string>().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
}

async function catchCorruptStream(work: () => Promise<RowDifference[]>): Promise<RowDifference[] | CorruptStream> {
  return work().catch((error: unknown) => {
    if (error instanceof CorruptStream) return error;
    throw error;
  });
}

function describeDifference({ taskId, tenantId, table, key, kind, columns }: RowDifference): string {
  const row = `${table} row${key === '' ? '' : ` ${sanitizeForTerminal(key)}`}`;
  const difference = { different: `differs in ${columns.join(', ')}`, missing: 'is missing', surplus: 'has no event' };
  return `DIFFERS  task ${sanitizeForTerminal(taskId)} of tenant ${sanitizeForTerminal(tenantId)}: ${row} ${difference[kind]}`;
}
