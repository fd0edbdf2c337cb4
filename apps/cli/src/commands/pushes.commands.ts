import { type PushDelivery, PushOutbox, type PushState } from '@app/webhooks';
import { invalidField } from '@app/domain';
import { Command, Option } from 'commander';
import { withStorage } from '../session/database-session.js';
import { JSON_OPTION, type OutputOptions, wholeNumber } from '../options.js';
import { harmless, print, table } from '../output/terminal.js';

interface ListOptions extends OutputOptions {
  readonly tenant?: string;
  readonly task?: string;
  readonly state?: PushState;
  readonly limit: number;
}

interface RetryOptions extends OutputOptions {
  readonly tenant?: string;
  readonly task?: string;
  readonly config?: string;
  readonly all?: true;
}

/** What webhooks were told, of all tenants, and what they could not be told. */
export function pushesCommand(): Command {
  const pushes = new Command('pushes').description('See what webhooks were told, and tell them once more.');
  pushes
    .command('list')
    .description(
      'List deliveries, newest first: those that wait and those that are dead, unless --state says otherwise.',
    )
    .option('--tenant <tenant>', 'of one tenant only')
    .option('--task <id>', 'of one task only')
    .addOption(new Option('--state <state>', 'in one state only').choices(['pending', 'dead', 'delivered']))
    .option('--limit <count>', 'how many at most', wholeNumber(1, 10_000), 100)
    .option(...JSON_OPTION)
    .action(list);
  pushes
    .command('retry')
    .description('Tell webhooks what was given up on. It may come after what was delivered since.')
    .option('--tenant <tenant>', 'of one tenant only')
    .option('--task <id>', 'of one task only')
    .option('--config <id>', 'to one webhook only')
    .option('--all', 'of every task')
    .option(...JSON_OPTION)
    .action(retry);
  return pushes;
}

async function list({ tenant: tenantId, task: taskId, state, limit, ...options }: ListOptions): Promise<void> {
  const states: PushState[] = state === undefined ? ['pending', 'dead'] : [state];
  const found = await withStorage(({ log }) => new PushOutbox(log).find({ tenantId, taskId, states }, limit));
  print(options, found, found.length === 0 ? ['There are no such deliveries.'] : tableOf(found));
}

async function retry({ tenant: tenantId, task: taskId, config: configId, all, ...options }: RetryOptions) {
  if (taskId === undefined && tenantId === undefined && all === undefined) {
    throw invalidField('--task', 'say which: --task, --tenant or --all');
  }
  const revived = await withStorage(({ log }) => new PushOutbox(log).retryDead({ tenantId, taskId, configId }));
  const none = 'Nothing was given up on.';
  print(options, revived, revived.length === 0 ? [none] : ['Will be told once more:', ...tableOf(revived)]);
}

function tableOf(deliveries: readonly PushDelivery[]): string[] {
  return table(
    ['TASK', 'VERSION', 'WEBHOOK', 'STATE', 'ATTEMPTS', 'LAST', 'ERROR'],
    deliveries.map((delivery) => [
      delivery.taskId,
      String(delivery.version),
      harmless(delivery.configId),
      delivery.state,
      String(delivery.attempts),
      delivery.deliveredAt ?? delivery.lastAttemptAt ?? '-',
      delivery.lastError ?? '-',
    ]),
  );
}
