import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { firstValueFrom } from 'rxjs';
import { Acta, type Replica } from '../../../../test/support/acta.js';
import { aMember } from '../../../../test/support/tasks.js';
import type { TaskChange } from './task-wakeups.js';

const alice = aMember('alice');
const { tenantId } = alice;

let acta: Acta;
let first: Replica;
let second: Replica;
beforeEach(async () => {
  acta = await Acta.open();
  [first, second] = await Promise.all([acta.replica({ concurrency: 0 }), acta.replica({ concurrency: 0 })]);
});
afterEach(() => acta?.close());

const next = (replica: Replica, taskId: string): Promise<TaskChange> =>
  firstValueFrom(replica.wakeups.changes(tenantId, taskId));

const listeners = () =>
  acta.sql(`select from pg_stat_activity where datname = current_database() and application_name = 'acta-wakeups'`);

/** Ends the connection over which a replica listens, as a failover would. */
async function cutListeners(): Promise<number> {
  const rows = await acta.sql(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = 'acta-wakeups'`,
  );
  return rows.length;
}

it('tells its own process at once, with the events, and others of the version', async () => {
  const taskId = await first.submit(alice, 'one');
  const [here, there] = [next(first, taskId), next(second, taskId)];
  await first.submit(alice, 'two', { taskId });
  expect(await here).toMatchObject({ taskId, version: 3, events: [{ type: 'MessageAccepted', version: 3 }] });
  const elsewhere = await there;
  expect(elsewhere).toMatchObject({ tenantId, taskId });
  expect(elsewhere.version).toBeGreaterThanOrEqual(2);
  expect(elsewhere.events).toBeUndefined();
});

it('tells of work that is queued, everywhere', async () => {
  const told = [first, second].map(({ wakeups }) => firstValueFrom(wakeups.queued));
  await first.submit(alice, 'work');
  expect(await Promise.all(told)).toEqual(['tester', 'tester']);
});

it('coalesces what happens at once into few notifications, and loses none of it', async () => {
  const tasks = await Promise.all(Array.from({ length: 300 }, (_, n) => first.submit(alice, `burst ${n}`)));
  const told = tasks.map((taskId) => next(second, taskId));
  for (const taskId of tasks) first.wakeups.publish({ tenantId, taskId, version: 99 });
  for (const change of await Promise.all(told)) expect(change.version).toBeGreaterThanOrEqual(2);
});

it('finds changes by polling when the connection is lost, and hears again once it is back', async () => {
  const taskId = await first.submit(alice, 'one');
  // The first poll tells of what is there; what comes after it is what this test is about.
  await next(second, taskId);
  const polled = firstValueFrom(second.wakeups.changes(tenantId, taskId));
  expect(await cutListeners()).toBe(2);
  await first.submit(alice, 'two', { taskId });
  expect((await polled).version).toBeGreaterThanOrEqual(2);
  // Listening again: a notification comes though the polls have nothing newer to tell.
  while ((await listeners()).length < 2) await new Promise((resolve) => setTimeout(resolve, 50));
  const notified = firstValueFrom(second.wakeups.queued);
  first.wakeups.publish({ tenantId, taskId, version: 3, queuedFor: 'tester' });
  expect(await notified).toBe('tester');
});

it('hears on after a notification that it cannot read', async () => {
  const taskId = await first.submit(alice, 'one');
  for (const payload of ['no JSON', '5', '["x", 7]'])
    await acta.sql(`select pg_notify('acta_task_changed', $1)`, [payload]);
  const notified = firstValueFrom(second.wakeups.queued);
  first.wakeups.publish({ tenantId, taskId, version: 3, queuedFor: 'tester' });
  expect(await notified).toBe('tester');
});

it('tells nothing more once nobody listens', async () => {
  const taskId = await first.submit(alice, 'one');
  const heard: TaskChange[] = [];
  const subscription = first.wakeups.changes(tenantId, taskId).subscribe((change) => heard.push(change));
  subscription.unsubscribe();
  await first.submit(alice, 'two', { taskId });
  expect(heard).toEqual([]);
});
