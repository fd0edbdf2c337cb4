import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Acta } from '../../../../test/support/acta.js';
import { aMember } from '../../../../test/support/tasks.js';

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
});
