import type { Storage } from '@app/storage';
import { DamagedStream, Projections, type RowDifference, type TaskRef } from '@app/tasks';
import { Command } from 'commander';
import { withStorage } from '../session/database-session.js';
import { NotWell } from '../exit.js';
import { JSON_OPTION, type OutputOptions } from '../options.js';
import { Progress } from '../output/progress.js';
import { harmless, print } from '../output/terminal.js';

interface ProjectionOptions extends OutputOptions {
  readonly tenant: string;
  readonly task?: string;
}

/** The read models: what clients see of the log. They hold nothing of their own. */
export function projectionsCommand(): Command {
  const projections = new Command('projections').description('Check the read models, or make them anew from the log.');
  const commands = [
    ['check', 'Compare the rows of each task with what its events say, and name what differs.'],
    ['rebuild', 'Write the rows of each task anew from its events, while servers run.'],
  ] as const;
  for (const [name, description] of commands) {
    projections
      .command(name)
      .description(description)
      .option('--task <id>', 'only this task')
      .option('--tenant <tenant>', 'whose task it is, with --task', 'default')
      .option(...JSON_OPTION)
      .action((options: ProjectionOptions) => overTasks(name, options));
  }
  return projections;
}

/** With `--json`, a line for each difference, one for each task that was left alone, and the counts on the last. */
async function overTasks(what: 'check' | 'rebuild', options: ProjectionOptions): Promise<void> {
  const counts = { tasks: 0, differing: 0, damaged: 0 };
  await withStorage(async (storage, { config, signal }) => {
    if (options.task !== undefined && !(await isKnown(storage, { tenantId: options.tenant, taskId: options.task }))) {
      throw new Error(`there is no task ${options.task} of tenant ${options.tenant}`);
    }
    const projections = new Projections(storage.log, config.leaseMs);
    const progress = new Progress('tasks', await countOf(storage, options), options);
    for await (const task of tasksOf(projections, options)) {
      signal.throwIfAborted();
      const done = await attempt(() => projections[what](task));
      counts.tasks += 1;
      progress.advance(1);
      if (done instanceof DamagedStream) {
        counts.damaged += 1;
        progress.clear();
        print(options, { ...task, damaged: done.message }, [`DAMAGED  ${harmless(done.message)}`]);
      } else if (done.length > 0) {
        counts.differing += 1;
        progress.clear();
        for (const difference of done) print(options, difference, [describe(difference)]);
      }
    }
    progress.clear();
  });
  const { tasks, differing, damaged } = counts;
  const outcome =
    what === 'check'
      ? `Checked ${tasks} tasks: ${differing === 0 ? 'their rows are what their events say' : `rows of ${differing} differ`}`
      : `Rebuilt ${tasks - damaged} tasks, ${differing} of which had other rows before`;
  print(options, counts, [`${outcome}${damaged === 0 ? '' : `; ${damaged} were left alone`}.`]);
  if (damaged > 0 || (what === 'check' && differing > 0)) throw new NotWell();
}

/** A row without events is damage, and none of either is no task. */
async function isKnown({ database }: Storage, { tenantId, taskId }: TaskRef): Promise<boolean> {
  const inTable = (table: 'event' | 'task') =>
    database.kysely
      .selectFrom(table)
      .select('task_id')
      .where('tenant_id', '=', tenantId)
      .where('task_id', '=', taskId)
      .limit(1)
      .executeTakeFirst();
  return ((await inTable('event')) ?? (await inTable('task'))) !== undefined;
}

async function* tasksOf(projections: Projections, { tenant, task }: ProjectionOptions): AsyncGenerator<TaskRef> {
  if (task === undefined) yield* projections.tasks();
  else yield { tenantId: tenant, taskId: task };
}

async function countOf({ database }: Storage, { task }: ProjectionOptions): Promise<number> {
  if (task !== undefined) return 1;
  const { count } = await database.kysely
    .selectFrom('task')
    .select((eb) => eb.fn.countAll<string>().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
}

async function attempt(work: () => Promise<RowDifference[]>): Promise<RowDifference[] | DamagedStream> {
  return work().catch((error: unknown) => {
    if (error instanceof DamagedStream) return error;
    throw error;
  });
}

function describe({ taskId, tenantId, table, key, kind, columns }: RowDifference): string {
  const row = `${table} row${key === '' ? '' : ` ${harmless(key)}`}`;
  const how =
    kind === 'different' ? `differs in ${columns.join(', ')}` : kind === 'missing' ? 'was missing' : 'is too many';
  return `DIFFERS  task ${harmless(taskId)} of tenant ${harmless(tenantId)}: its ${row} ${how}`;
}
