import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TaskCommand } from '@app/domain';
import type { TaskHead } from '@app/storage';
import { Acta, type Replica } from '../../../test/support/acta.js';
import { addMessage, aMessage, aTaskId, SUBMIT } from '../../../test/support/tasks.js';
import { anAppend, TENANT, TIME } from '../../../test/support/an-append.js';

const add = (text: string): TaskCommand => addMessage(aMessage(text));
const inContext = (contextId: string, changes: object = {}): TaskCommand => ({ ...SUBMIT, contextId, ...changes });
const ofTenant = (tenantId: string, task: string) => ({ ...anAppend(task, null, SUBMIT), tenantId });

let acta: Acta;
let first: Replica;
let second: Replica;
beforeAll(async () => {
  acta = await Acta.open();
  [first, second] = await Promise.all([acta.replica({ concurrency: 0 }), acta.replica({ concurrency: 0 })]);
});
afterAll(() => acta?.close());

async function headOf(task: string): Promise<TaskHead> {
  return (await first.log.head(TENANT, aTaskId(task)))!;
}

async function storedRows(): Promise<Record<string, number>> {
  const [row] = await acta.sql<Record<string, number>>(
    `select (select count(*)::integer from event) as events, (select count(*)::integer from task) as tasks,
      (select count(*)::integer from message_receipt) as receipts, (select count(*)::integer from context) as contexts`,
  );
  return row!;
}

/** Runs work and returns the values and the errors of the statements that `first` sent meanwhile. */
async function statementsDuring(work: () => Promise<void>) {
  const statements: (readonly unknown[])[] = [];
  const errors: unknown[] = [];
  const { database } = first;
  const run = database.run.bind(database);
  database.run = (statement, values, executor) => {
    statements.push(values);
    return run(statement, values, executor).catch((error: unknown) => {
      errors.push(error);
      throw error;
    }) as never;
  };
  await work().finally(() => {
    database.run = run;
  });
  return { statements, errors };
}

describe('A batch of appends', () => {
  it('stores the appends of other tenants in the same transaction, and nothing of those that are rejected', async () => {
    const once = { commandId: 'recorded before' };
    const receipt = { subject: 'alice', messageId: 'received before' };
    for (const task of ['t1', 't2', 't3', 't4']) await first.log.append(anAppend(task, null, inContext(task)));
    const stale = await headOf('t1');
    await first.log.append(anAppend('t1', stale, add('first')));
    await first.log.append(anAppend('t2', await headOf('t2'), add('recorded'), once));
    await first.log.append(anAppend('t3', await headOf('t3'), add('received'), { receipt }));
    const fence = { runId: 'no such run', leaseGeneration: 1, dispatcherGeneration: 1 };
    const ofRejected = { receipt: { subject: 'alice', messageId: 'of a rejected append' } };
    const newContext = inContext('of a rejected append');
    const rejected: [string, ReturnType<typeof anAppend>][] = [
      ['conflict', anAppend('t1', stale, add('late'), ofRejected)],
      ['recorded', anAppend('t2', await headOf('t2'), add('recorded'), once)],
      ['received', anAppend('t5', null, newContext, { receipt })],
      ['other-ring', anAppend('t6', null, inContext('t3', { ring: 'ring:ops' }), ofRejected)],
      ['received', anAppend('t7', null, inContext('t2', { ring: 'ring:ops' }), { receipt })],
      ['fenced', anAppend('t3', await headOf('t3'), add('fenced'), { fence })],
      ['conflict', anAppend('t4', null, newContext, ofRejected)],
    ];
    const before = await storedRows();
    const { statements, errors } = await statementsDuring(async () => {
      const appends = [...rejected.map(([, append]) => append), ofTenant('umbrella', 'u'), ofTenant('initech', 'i')];
      const results = await Promise.all(appends.map((append) => first.log.append(append)));
      const expected = [...rejected.map(([outcome]) => outcome), 'appended', 'appended'];
      expect(results.map(({ outcome }) => outcome)).toEqual(expected);
    });
    expect(errors).toEqual([]);
    expect(statements).toHaveLength(1);
    const { events, tasks, receipts, contexts } = before as Record<
      'events' | 'tasks' | 'receipts' | 'contexts',
      number
    >;
    expect(await storedRows()).toEqual({ events: events + 4, tasks: tasks + 2, receipts, contexts: contexts + 2 });
  });

  it('locks existing streams and then the contexts of new tasks, each in one order, so that batches cannot deadlock', async () => {
    for (const task of ['o1', 'o2']) await first.log.append(anAppend(task, null, SUBMIT));
    const existing = await Promise.all(
      ['o1', 'o2'].map(async (task) => anAppend(task, await headOf(task), add('next'))),
    );
    const started = ['z', 'x', 'y'].map((context) => anAppend(`new in ${context}`, null, inContext(context)));
    const { statements } = await statementsDuring(async () => {
      await Promise.all([...started, ...existing].map((append) => first.log.append(append)));
    });
    expect(statements).toHaveLength(1);
    const tasks = existing.map(({ taskId }) => taskId).sort();
    const order = [...tasks, ...['x', 'y', 'z'].map((context) => aTaskId(`new in ${context}`))];
    expect(statements[0]!.filter((value) => order.includes(value as string))).toEqual(order);
  });

  it.each(['run_queue', 'task', 'message_receipt'])(
    'accepts appends of other tenants while another transaction holds a lock in %s that three appends wait for',
    async (table) => {
      const task = `locked in ${table}`;
      const receipt = { subject: 'alice', messageId: task };
      const row = { agent: 'demo', ring: 'ring:dev', dispatcherGeneration: 1, leaseGeneration: 0, attempts: 0 };
      const queue = { ...row, queuedAt: TIME, notBefore: null, runId: null, worker: null, cancelDeadline: null };
      await first.log.append(anAppend(task, null, SUBMIT, { rows: { queue } }));
      const head = await headOf(task);
      const lockRow = `select from ${table} where tenant_id = $1 and task_id = $2 for update`;
      const { waiting } = await second.database.transaction(async (executor) => {
        await (table === 'message_receipt'
          ? second.log.append(anAppend('of the lock', null, inContext('of the lock'), { receipt }), executor)
          : executor.query(lockRow, [TENANT, aTaskId(task)]));
        const waiting = [1, 2, 3].map((n) =>
          first.log.append(anAppend(task, head, add(`${n}`), { rows: { queue }, receipt })),
        );
        for (let n = 0; n < 6; n += 1) {
          expect((await first.log.append(ofTenant('umbrella', `${table} ${n}`))).outcome).toBe('appended');
        }
        return { waiting };
      });
      const outcomes = (await Promise.all(waiting)).map(({ outcome }) => outcome);
      expect(outcomes).toEqual([table === 'message_receipt' ? 'received' : 'appended', 'received', 'received']);
    },
  );
});
