import { derivedId } from '@app/domain';
import type { Database } from '@app/storage';
import { groupBy } from './group-by.js';
import { updatesAfter, type RecordedTask } from './event-log-check.js';
import type { WebhookReport } from '../load/webhook-receiver.program.js';

/** Compares the received webhooks with the event log: each update was delivered, in order apart from repeats, and none is pending. */
export async function checkWebhooks(
  database: Database,
  tasks: ReadonlyMap<string, RecordedTask>,
  reports: readonly WebhookReport[],
): Promise<{ webhooks: number; violations: string[] }> {
  const violations: string[] = [];
  const received = groupBy(
    reports.map((report, index) => ({ ...report, index })),
    ({ delivery }) => delivery,
  );
  let webhooks = 0;
  for (const [taskId, task] of tasks) {
    const set = task.events.find(({ type }) => type === 'PushConfigSet');
    if (set === undefined) continue;
    const due = updatesAfter(set.version, task);
    const arrivals: { version: number; index: number }[] = [];
    for (const { version, state } of due) {
      const delivery = derivedId('push', task.tenantId, taskId, task.state.owner, taskId, version);
      const attempts = received.get(delivery) ?? [];
      received.delete(delivery);
      if (attempts[0] !== undefined) arrivals.push({ version, index: attempts[0].index });
      const different = attempts.find((report) => (report.state ?? null) !== state);
      if (different !== undefined) {
        violations.push(
          `the webhook of ${taskId} received ${different.state} at ${version}, where the state is ${state}`,
        );
      }
    }
    const order = arrivals.toSorted((one, other) => one.index - other.index).map(({ version }) => version);
    const expected = due.map(({ version }) => version);
    if (String(order) === String(expected)) webhooks += 1;
    else {
      violations.push(
        `the webhook of ${taskId} received ${String(order)} of ${String(expected)}, up to ${task.state.status}`,
      );
    }
  }
  for (const delivery of received.keys()) {
    violations.push(`a webhook received ${delivery}, which belongs to no recorded event`);
  }
  return { webhooks, violations: [...violations, ...(await undeliveredWebhooks(database))] };
}

/** Returns deliveries that did not succeed. The webhook was up all the time, apart from short restarts. */
async function undeliveredWebhooks(database: Database): Promise<string[]> {
  const { rows } = await database.pool.query<{ task: string; version: number; state: string; why: string }>(
    `select task_id as task, version, state, attempts || ' attempts, ' || coalesce(last_error, 'no error') as why
      from push_delivery where state <> 'delivered' order by task_id, version`,
  );
  return rows.map(({ task, version, state, why }) => `the webhook of ${task} at ${version} is ${state}: ${why}`);
}
