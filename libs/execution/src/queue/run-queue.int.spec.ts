import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Acta } from '../../../../test/support/acta.js';
import { anAgent } from '../../../../test/support/replica-agents.js';
import { aMember, aWorker } from '../../../../test/support/tasks.js';

const OTHER = { tenantId: 'umbrella' };
let acta: Acta;
beforeAll(async () => {
  acta = await Acta.open();
});
afterAll(() => acta?.close());

describe('RunQueue', () => {
  // F22
  it('has the row of a new task from the transaction that stores the task and its events', async () => {
    const api = await acta.replica({ concurrency: 0 });
    const taskId = await api.submit(aMember('alice'), 'queued');
    const [row] = await acta.sql<{ same: boolean }>(
      `select bool_and(e.transaction_id::xid = q.xmin and t.xmin = q.xmin) as same
       from run_queue q join task t using (tenant_id, task_id) join event e using (tenant_id, task_id)
       where q.task_id = $1`,
      [taskId],
    );
    expect(row).toEqual({ same: true });
  });

  it.each([
    ['a worker', {}],
    ['a worker with a limit per tenant', { runningPerTenant: 5 }],
  ])('gives %s the tasks behind one whose task row another transaction has locked', async (_who, limits) => {
    const locked = await Acta.open();
    try {
      const api = await locked.replica({ concurrency: 0 });
      const first = await api.submit(aMember('alice'), 'locked');
      const others = [await api.submit(aMember('alice'), 'next'), await api.submit(aMember('bob', OTHER), 'other')];
      await api.database.transaction(async (executor) => {
        await executor.query('select from task where task_id = $1 for update', [first]);
        const worker = await locked.replica({ agents: [anAgent(() => undefined)], concurrency: 1, ...limits });
        await worker.until('acme', others[0]!, ({ status }) => status === 'completed');
        await worker.until('umbrella', others[1]!, ({ status }) => status === 'completed');
      });
      await api.until('acme', first, ({ status }) => status === 'completed');
    } finally {
      await locked.close();
    }
  });

  it('gives a remote worker, and the reaper, the tasks behind one whose task row is locked', async () => {
    const locked = await Acta.open();
    try {
      const api = await locked.replica({ concurrency: 0 });
      const tasks: string[] = [];
      for (const text of ['locked', 'next', 'expired']) tasks.push(await api.submit(aMember('alice'), text));
      const worker = aWorker('worker');
      const claim = () => api.queue.lockWaitingForWorker(worker, 1, api.database.pool);
      await api.database.transaction(async (executor) => {
        await executor.query('select from task where task_id = $1 for update', [tasks[0]]);
        expect((await claim()).map(({ taskId }) => taskId)).toEqual([tasks[1]]);
        await locked.sql(
          `update run_queue set run_id = 'run ' || task_id, lease_expires_at = 'epoch', cancel_deadline = 'epoch'`,
        );
        const unlocked = tasks.slice(1).sort();
        for (const lock of ['lockExpired', 'lockOverdueCancels'] as const) {
          const found = await api.queue[lock](10, api.database.pool);
          expect(found.map(({ taskId }) => taskId).sort()).toEqual(unlocked);
        }
      });
    } finally {
      await locked.close();
    }
  });
});
