import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
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

const nextChange = (replica: Replica, taskId: string): Promise<TaskChange> =>
  firstValueFrom(replica.wakeups.changes(tenantId, taskId));

const listeners = () =>
  acta.sql(`select from pg_stat_activity where datname = current_database() and application_name = 'acta-wakeups'`);

/** Terminates the connections over which the replicas listen, as a failover does. */
async function terminateListeners(): Promise<number> {
  const rows = await acta.sql(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = 'acta-wakeups'`,
  );
  return rows.length;
}

describe('TaskWakeups', () => {
  it('notifies its own process with the events, and other processes with the version', async () => {
    const taskId = await first.submit(alice, 'one');
    const changes = Promise.all([nextChange(first, taskId), nextChange(second, taskId)]);
    await first.submit(alice, 'two', { taskId });
    const [own, remote] = await changes;
    expect(own).toMatchObject({ taskId, version: 3, events: [{ type: 'MessageAccepted', version: 3 }] });
    expect(remote).toMatchObject({ tenantId, taskId });
    expect(remote.version).toBeGreaterThanOrEqual(2);
    expect(remote.events).toBeUndefined();
  });

  it('notifies every process of a queued run', async () => {
    const agents = [first, second].map(({ wakeups }) => firstValueFrom(wakeups.queuedAgents));
    await first.submit(alice, 'work');
    expect(await Promise.all(agents)).toEqual(['tester', 'tester']);
  });

  it('coalesces concurrent changes of 300 tasks and loses none', async () => {
    const tasks = await Promise.all(Array.from({ length: 300 }, (_, n) => first.submit(alice, `burst ${n}`)));
    const changes = tasks.map((taskId) => nextChange(second, taskId));
    for (const taskId of tasks) first.wakeups.publish({ tenantId, taskId, version: 99 });
    for (const change of await Promise.all(changes)) expect(change.version).toBeGreaterThanOrEqual(2);
  });

  it('polls while its connection is lost, and receives notifications after it has reconnected', async () => {
    const taskId = await first.submit(alice, 'one');
    // The first poll emits the current version. The test needs a later one.
    await nextChange(second, taskId);
    const polled = nextChange(second, taskId);
    expect(await terminateListeners()).toBe(2);
    await first.submit(alice, 'two', { taskId });
    expect((await polled).version).toBeGreaterThanOrEqual(2);
    // A poll cannot emit this notification, because the task has no newer version.
    while ((await listeners()).length < 2) await new Promise((resolve) => setTimeout(resolve, 50));
    const notified = firstValueFrom(second.wakeups.queuedAgents);
    first.wakeups.publish({ tenantId, taskId, version: 3, queuedAgent: 'tester' });
    expect(await notified).toBe('tester');
  });

  it('ignores a notification that it cannot decode, and receives the next', async () => {
    const taskId = await first.submit(alice, 'one');
    for (const payload of ['no JSON', '5', '["x", 7]'])
      await acta.sql(`select pg_notify('acta_task_changed', $1)`, [payload]);
    const notified = firstValueFrom(second.wakeups.queuedAgents);
    first.wakeups.publish({ tenantId, taskId, version: 3, queuedAgent: 'tester' });
    expect(await notified).toBe('tester');
  });

  it('emits nothing to a subscriber that has unsubscribed', async () => {
    const taskId = await first.submit(alice, 'one');
    const received: TaskChange[] = [];
    const subscription = first.wakeups.changes(tenantId, taskId).subscribe((change) => received.push(change));
    subscription.unsubscribe();
    await first.submit(alice, 'two', { taskId });
    expect(received).toEqual([]);
  });
});
