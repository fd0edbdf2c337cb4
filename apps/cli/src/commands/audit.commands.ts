import { countEvents, type StreamBreak, verifyChains } from '@app/audit';
import { Command } from 'commander';
import { withConnection } from '../session/database-session.js';
import { CheckFailed } from '../exit.js';
import { JSON_OPTION, type OutputOptions } from '../options.js';
import { Progress } from '../output/progress.js';
import { sanitizeForTerminal, print } from '../output/terminal.js';

interface VerifyOptions extends OutputOptions {
  readonly tenant?: string;
  readonly task?: string;
}

const MEANING: Readonly<Record<StreamBreak['reason'], string>> = {
  'missing-event': 'the event is missing',
  'broken-link': 'the event does not follow the one before it',
  'altered-event': 'the event is not what was written',
  'other-head': 'the task row names another head than this last event',
  'no-task-row': 'the stream has no task row (`acta projections rebuild` makes it anew)',
  'missing-stream': 'there are rows of this task, and none of its events',
};

export function auditCommand(): Command {
  const audit = new Command('audit').description('Check the record.');
  audit
    .command('verify')
    .description('Follow the hash chain of every task, and name each version where it breaks.')
    .option('--tenant <tenant>', 'only the tasks of a tenant')
    .option('--task <id>', 'only this task')
    .option(...JSON_OPTION)
    .action(verify);
  return audit;
}

/**
 * On the schema as it is: looking must not change anything. Breaks are printed as they are found, however many; with
 * `--json` one a line, and the counts on the last.
 */
async function verify(options: VerifyOptions): Promise<void> {
  const scope = {
    ...(options.tenant === undefined ? {} : { tenantId: options.tenant }),
    ...(options.task === undefined ? {} : { taskId: options.task }),
  };
  const result = await withConnection(async ({ database }, { signal }) => {
    const progress = new Progress('events', await countEvents(database, scope), options);
    const counts = { tasks: 0, events: 0, breaks: 0 };
    for await (const { streams, events, breaks } of verifyChains(database, scope)) {
      signal.throwIfAborted();
      counts.tasks += streams;
      counts.events += events;
      counts.breaks += breaks.length;
      progress.advance(events);
      if (breaks.length > 0) progress.clear();
      for (const broken of breaks) print(options, broken, [describe(broken)]);
    }
    progress.clear();
    return counts;
  });
  const { tasks, events, breaks } = result;
  if (options.task !== undefined && tasks + breaks === 0) throw new Error(`there is no task ${options.task}`);
  if (options.tenant !== undefined && tasks + breaks === 0)
    throw new Error(`there is no task of tenant ${options.tenant}`);
  const verdict = breaks === 0 ? 'Every chain is whole' : `${breaks} ${breaks === 1 ? 'break' : 'breaks'}`;
  print(options, result, [`${verdict}: ${tasks} tasks, ${events} events.`]);
  if (breaks > 0) throw new CheckFailed();
}

function describe({ tenantId, taskId, version, reason }: StreamBreak): string {
  return `BROKEN  task ${sanitizeForTerminal(taskId)} of tenant ${sanitizeForTerminal(tenantId)}, version ${version}: ${MEANING[reason]}`;
}
