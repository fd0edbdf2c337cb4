import { countEvents, type EventLogBreak, verifyChains } from '@app/audit';
import { formatCount, isUuid } from '@app/domain';
import { Command } from 'commander';
import { CheckFailed } from '../exit.js';
import { JSON_OPTION, type OutputOptions } from '../options.js';
import { Progress } from '../output/progress.js';
import { print, sanitizeForTerminal } from '../output/terminal.js';
import { withConnection } from '../session/database-session.js';
import { taskNotFound, tenantWithoutTasks } from '../session/require-task.js';
import { auditLogCommand } from './audit-log.command.js';

interface VerifyOptions extends OutputOptions {
  readonly tenant?: string;
  readonly task?: string;
}

const REASONS: Readonly<Record<EventLogBreak['reason'], string>> = {
  'missing-event': 'the event is missing',
  'broken-link': 'the event does not contain the hash of the previous event',
  'altered-event': 'the event does not match its own hash',
  'unknown-hash-version':
    'the hash of the event has a version that this program does not know; use a newer version of Acta',
  'other-head': 'the task row does not match this last event',
  'no-task-row': 'the task has events and no task row (`acta projections rebuild` creates it)',
  'missing-stream': 'the task has rows and no events',
};

/** Creates the commands for auditors. */
export function auditCommand(): Command {
  const audit = new Command('audit').description('Verify the event log, and list the audit log.');
  audit
    .command('verify')
    .description('Verify the hash chain of every task and report each break.')
    .option('--tenant <tenant>', 'only the tasks of this tenant')
    .option('--task <id>', 'only this task')
    .option(...JSON_OPTION)
    .action(verify);
  audit.addCommand(auditLogCommand());
  return audit;
}

/**
 * Prints each break as it is found, then the counts; with `--json`, one object per line. It applies no migrations, because a
 * verification must not change the database.
 */
async function verify(options: VerifyOptions): Promise<void> {
  if (options.task !== undefined && !isUuid(options.task)) throw taskNotFound(options.task);
  const scope = {
    ...(options.tenant === undefined ? {} : { tenantId: options.tenant }),
    ...(options.task === undefined ? {} : { taskId: options.task }),
  };
  const result = await withConnection(async ({ database }, { signal }) => {
    const progress = new Progress('event', await countEvents(database, scope), options);
    const counts = { tasks: 0, events: 0, breaks: 0 };
    for await (const { streams, events, breaks } of verifyChains(database, scope)) {
      signal.throwIfAborted();
      counts.tasks += streams;
      counts.events += events;
      counts.breaks += breaks.length;
      progress.advance(events);
      if (breaks.length > 0) progress.clear();
      for (const found of breaks) print(options, found, [describeBreak(found)]);
    }
    progress.clear();
    return counts;
  });
  const { tasks, events, breaks } = result;
  if (options.task !== undefined && tasks + breaks === 0) throw taskNotFound(options.task);
  if (options.tenant !== undefined && tasks + breaks === 0) {
    throw tenantWithoutTasks(options.tenant);
  }
  const verdict = breaks === 0 ? 'every chain is valid' : formatCount(breaks, 'break');
  print(options, result, [`Verified ${formatCount(tasks, 'task')}, ${formatCount(events, 'event')}: ${verdict}.`]);
  if (breaks > 0) throw new CheckFailed();
}

function describeBreak({ tenantId, taskId, version, reason }: EventLogBreak): string {
  return `BROKEN  task ${sanitizeForTerminal(taskId)} of tenant ${sanitizeForTerminal(tenantId)}, version ${version}: ${REASONS[reason]}`;
}
