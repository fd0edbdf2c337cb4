import type { Storage } from '@app/storage';
import { type WebhookDelivery, WebhookOutbox, type WebhookDeliveryState } from '@app/webhooks';
import { Command, Option } from 'commander';
import { integerBetween, JSON_OPTION, type OutputOptions } from '../options.js';
import { print, sanitizeForTerminal, table } from '../output/terminal.js';
import { withStorage } from '../session/database-session.js';
import { requireTask, requireTenant } from '../session/require-task.js';

interface ListOptions extends OutputOptions {
  readonly tenant?: string;
  readonly task?: string;
  readonly state?: WebhookDeliveryState;
  readonly limit: number;
}

interface RetryOptions extends OutputOptions {
  readonly tenant?: string;
  readonly task?: string;
  readonly config?: string;
  readonly all?: true;
}

/** Creates the commands for the webhook deliveries of all tenants. */
export function pushesCommand(): Command {
  const pushes = new Command('pushes').description('List and retry webhook deliveries.');
  pushes
    .command('list')
    .description('List pending and dead deliveries, newest first.')
    .option('--tenant <tenant>', 'only deliveries of this tenant')
    .option('--task <id>', 'only deliveries of this task')
    .addOption(new Option('--state <state>', 'only deliveries in this state').choices(['pending', 'dead', 'delivered']))
    .option('--limit <count>', 'maximum number of deliveries', integerBetween(1, 10_000), 100)
    .option(...JSON_OPTION)
    .action(list);
  pushes
    .command('retry')
    .description('Send dead deliveries again. A webhook can receive them after later events.')
    .option('--tenant <tenant>', 'only deliveries of this tenant')
    .option('--task <id>', 'only deliveries of this task')
    .option('--config <id>', 'only deliveries to this push configuration')
    .option('--all', 'all dead deliveries')
    .option(...JSON_OPTION)
    .action(retry);
  return pushes;
}

async function list({ tenant: tenantId, task: taskId, state, limit, ...options }: ListOptions): Promise<void> {
  const states: WebhookDeliveryState[] = state === undefined ? ['pending', 'dead'] : [state];
  const found = await withStorage(async (storage) => {
    await requireSelected(storage, { tenantId, taskId });
    return WebhookOutbox.over(storage).find({ tenantId, taskId, states }, limit);
  });
  print(options, found, found.length === 0 ? ['No deliveries.'] : tableOf(found));
}

async function retry({ tenant: tenantId, task: taskId, config: configId, all, ...options }: RetryOptions) {
  if (taskId === undefined && tenantId === undefined && all === undefined) {
    throw new Error('no delivery is selected: use --task, --tenant or --all');
  }
  const retried = await withStorage(async (storage) => {
    await requireSelected(storage, { tenantId, taskId });
    const outbox = WebhookOutbox.over(storage);
    const found = await outbox.retryDead({ tenantId, taskId, configId });
    if (found.length === 0 && configId !== undefined) await requireConfig(outbox, { tenantId, taskId, configId });
    return found;
  });
  print(options, retried, retried.length === 0 ? ['No dead deliveries.'] : ['Queued again:', ...tableOf(retried)]);
}

interface Selection {
  readonly tenantId?: string;
  readonly taskId?: string;
}

async function requireSelected({ database }: Storage, { tenantId, taskId }: Selection): Promise<void> {
  if (taskId !== undefined) await requireTask(database, { tenantId, taskId });
  else if (tenantId !== undefined) await requireTenant(database, tenantId);
}

/** Throws unless the push configuration has a delivery, in any state. */
async function requireConfig(outbox: WebhookOutbox, { configId, ...selection }: Selection & { configId: string }) {
  const found = await outbox.find({ ...selection, configId, states: ['pending', 'dead', 'delivered'] }, 1);
  if (found.length === 0) {
    throw new Error(`push configuration ${configId} has no deliveries: \`acta pushes list\` shows the ids`);
  }
}

function tableOf(deliveries: readonly WebhookDelivery[]): string[] {
  return table(
    ['TASK', 'VERSION', 'WEBHOOK', 'OF', 'STATE', 'ATTEMPTS', 'LAST', 'ERROR'],
    deliveries.map((delivery) => [
      delivery.taskId,
      String(delivery.version),
      sanitizeForTerminal(delivery.configId),
      sanitizeForTerminal(delivery.subject),
      delivery.state,
      String(delivery.attempts),
      delivery.deliveredAt ?? delivery.lastAttemptAt ?? '-',
      delivery.lastError ?? '-',
    ]),
  );
}
