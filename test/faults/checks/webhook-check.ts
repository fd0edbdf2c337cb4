import { derivedId } from '@app/domain';
import type { Database } from '@app/storage';
import { grouped } from './grouped.js';
import { shownAfter, type Told } from './record-check.js';
import type { WebhookReport } from '../load/webhook-receiver.program.js';

/** What webhooks were told, against the record: everything, in order apart from repeats, and nothing is still to come. */
export async function checkWebhooks(
  database: Database,
  tasks: ReadonlyMap<string, Told>,
  reports: readonly WebhookReport[],
): Promise<{ webhooks: number; violations: string[] }> {
  const violations: string[] = [];
  const arrived = grouped(
    reports.map((report, at) => ({ ...report, at })),
    ({ delivery }) => delivery,
  );
  let webhooks = 0;
  for (const [taskId, told] of tasks) {
    const set = told.events.find(({ type }) => type === 'PushConfigSet');
    if (set === undefined) continue;
    const due = shownAfter(set.version, told);
    const came: { version: number; at: number }[] = [];
    for (const { version, state } of due) {
      const name = derivedId('push', told.tenantId, taskId, taskId, version);
      const times = arrived.get(name) ?? [];
      arrived.delete(name);
      if (times[0] !== undefined) came.push({ version, at: times[0].at });
      const other = times.find((report) => (report.state ?? null) !== state);
      if (other !== undefined) {
        violations.push(`the webhook of ${taskId} was told ${other.state} at ${version}, which is ${state}`);
      }
    }
    const order = came.toSorted((one, another) => one.at - another.at).map(({ version }) => version);
    const right = due.map(({ version }) => version);
    if (String(order) === String(right)) webhooks += 1;
    else {
      violations.push(
        `the webhook of ${taskId} was told ${String(order)} of ${String(right)}, up to ${told.state.status}`,
      );
    }
  }
  for (const name of arrived.keys()) violations.push(`a webhook was told ${name}, which is in no record`);
  return { webhooks, violations: [...violations, ...(await unsettled(database))] };
}

/** Deliveries that are not through. The webhook was up all the time, short gaps aside. */
async function unsettled(database: Database): Promise<string[]> {
  const { rows } = await database.pool.query<{ task: string; version: number; state: string; why: string }>(
    `select task_id as task, version, state, attempts || ' attempts, ' || coalesce(last_error, 'no error') as why
      from push_delivery where state <> 'delivered' order by task_id, version`,
  );
  return rows.map(({ task, version, state, why }) => `the webhook of ${task} at ${version} is ${state}: ${why}`);
}
