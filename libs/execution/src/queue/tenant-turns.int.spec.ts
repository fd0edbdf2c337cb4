import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Acta, anAgent, type Replica } from '../../../../test/support/acta.js';
import { sizeOf } from '../../../../test/support/extended.js';
import { Latch, ScriptedAgent } from '../../../../test/support/scripted-agent.js';
import { aMember, aMessage, aWorker } from '../../../../test/support/tasks.js';

const alice = aMember('alice');
const other = aMember('bob', { tenantId: 'umbrella' });
let acta: Acta;
beforeEach(async () => {
  acta = await Acta.open();
});
afterEach(() => acta?.close());

const storedRows = async () =>
  (
    await acta.sql(`select (select count(*) from event) as events, (select count(*) from task) as tasks,
      (select count(*) from message_receipt) as receipts, (select count(*) from context) as contexts`)
  )[0];
const queued = async () =>
  (await acta.sql<{ n: number }>('select count(*)::integer as n from run_queue where run_id is null'))[0]!.n;
/** Tenants in the order in which runs of theirs were started. */
const claims = async () =>
  (
    await acta.sql<{ tenant: string }>(
      `select tenant_id as tenant from event where type = 'RunStarted' order by position`,
    )
  ).map(({ tenant }) => tenant);

describe('a tenant whose queue is full', () => {
  let api: Replica;
  beforeEach(async () => {
    api = await acta.replica({ concurrency: 0, queuedPerTenant: 3 });
    for (const n of [1, 2, 3]) await api.submit(alice, `task ${n}`);
  });

  it('is told to come again, and nothing of it is stored', async () => {
    const before = await storedRows();
    await expect(api.submit(alice, 'too much')).rejects.toMatchObject({
      kind: 'Overloaded',
      details: { retryAfterSeconds: 5 },
    });
    expect(await storedRows()).toEqual(before);
  });

  it('keeps no other from its place', async () => {
    await api.submit(other, 'of another tenant');
  });

  it('gets the task of a message that was taken in before, and may go on with it', async () => {
    const first = await api.submit(alice, 'task 1');
    expect(await api.list(alice)).toMatchObject({ totalSize: 3 });
    await api.submit(alice, aMessage('and this'), { taskId: first });
    const changed = { ...aMessage('else'), messageId: aMessage('task 1').messageId };
    await expect(api.submit(alice, changed)).rejects.toMatchObject({ kind: 'InvalidParameters' });
  });

  it('has room again once a worker has taken one, or one was canceled', async () => {
    const first = await api.submit(alice, 'task 1');
    await api.cancel(alice, first);
    await api.submit(alice, 'in its place');
    const latch = new Latch();
    const slow = anAgent(() => latch.opened);
    const worker = await acta.replica({ agents: [slow], concurrency: 1 });
    while ((await queued()) > 2) await new Promise((resolve) => setTimeout(resolve, 10));
    await api.submit(alice, 'in the place of the next');
    latch.open();
    await worker.close(1_000);
  });
});

const WAITING = sizeOf({ smoke: 800, full: 2_000 });

it.each([1, 16])(
  `${WAITING} waiting tasks delay a task of a different tenant by a few claims (%i slots)`,
  async (slots) => {
    const api = await acta.replica({ concurrency: 0 });
    for (let sent = 0; sent < WAITING; sent += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, n) => api.submit(alice, `task ${sent + n}`)));
    }
    const latch = new Latch();
    const agent = new ScriptedAgent({ name: 'tester' });
    agent.on('the single one', () => latch.open());
    const worker = await acta.replica({ agents: [agent.definition], concurrency: slots });
    while ((await claims()).length < 20) await new Promise((resolve) => setTimeout(resolve, 5));
    const taskId = await api.submit(other, 'the single one');
    const before = (
      await acta.sql<{ n: number }>(
        `select count(*)::integer as n from event where type = 'RunStarted' and position <
      (select min(position) from event where tenant_id = $1)`,
        [other.tenantId],
      )
    )[0]!.n;
    await latch.opened;
    await api.until(other.tenantId, taskId, (state) => state.status === 'completed');
    // A claim may be under way; the next one has it.
    expect((await claims()).indexOf(other.tenantId) - before).toBeLessThanOrEqual(2 * slots + 1);
    expect(await queued()).toBeGreaterThan(sizeOf({ smoke: 0, full: 1_000 }));
    await worker.close();
  },
);

describe('a limit of two runs for each tenant', () => {
  const limited = { runningPerTenant: 2 } as const;
  const running = async () =>
    (
      await acta.sql<{ tenant: string; n: number }>(
        `select tenant_id as tenant, count(*)::integer as n from run_queue where run_id is not null group by 1 order by 1`,
      )
    ).map(({ tenant, n }) => [tenant, n]);

  it('holds over all workers together, and for what comes in where there is a free slot', async () => {
    const now = new Map<string, number>();
    let most = 0;
    const agent = anAgent(async ({ task }) => {
      now.set(task.owner, (now.get(task.owner) ?? 0) + 1);
      most = Math.max(most, now.get(task.owner)!);
      await new Promise((resolve) => setTimeout(resolve, 10));
      now.set(task.owner, now.get(task.owner)! - 1);
    });
    const workers = await Promise.all(
      [1, 2, 3].map(() => acta.replica({ agents: [agent], concurrency: 8, ...limited })),
    );
    const sends = Array.from({ length: 60 }, (_, n) =>
      workers[n % 3]!.sendAndWait(n % 2 === 0 ? alice : other, `task ${n}`).then(({ state }) => state.status),
    );
    expect(new Set(await Promise.all(sends))).toEqual(new Set(['completed']));
    expect(most).toBe(2);
  });

  it('leaves the slots to the other tenants, and goes on when one of its runs ends', async () => {
    const latches = new Map<string, Latch>();
    const agent = anAgent(async (ctx) => {
      latches.set(ctx.text, new Latch());
      await latches.get(ctx.text)!.opened;
    });
    const api = await acta.replica({ concurrency: 0, ...limited });
    for (const n of [1, 2, 3, 4]) await api.submit(alice, `mine ${n}`);
    await api.submit(other, 'theirs');
    const worker = await acta.replica({ agents: [agent], concurrency: 8, ...limited });
    while (latches.size < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await running()).toEqual([
      ['acme', 2],
      ['umbrella', 1],
    ]);
    latches.get('mine 1')!.open();
    while (latches.size < 4) await new Promise((resolve) => setTimeout(resolve, 5));
    expect([...latches.keys()].toSorted()).toEqual(['mine 1', 'mine 2', 'mine 3', 'theirs']);
    expect(await running()).toEqual([
      ['acme', 2],
      ['umbrella', 1],
    ]);
    for (const latch of latches.values()) latch.open();
    while (latches.size < 5) await new Promise((resolve) => setTimeout(resolve, 5));
    latches.get('mine 4')!.open();
    await worker.close(5_000);
  });

  it('counts the runs of remote workers with the others', async () => {
    const api = await acta.replica({ agents: [anAgent(undefined)], ...limited });
    for (const n of [1, 2, 3]) await api.submit(alice, `task ${n}`);
    const claim = () => api.remote.claim(aWorker('worker'), { limit: 32 }, new AbortController().signal);
    const [first, second, third] = await Promise.all([claim(), claim(), claim()]);
    const held = [...first, ...second, ...third];
    expect(held).toHaveLength(2);
    expect(await claim()).toEqual([]);
    const { runId, leaseGeneration, dispatcherGeneration } = held[0]!;
    await api.remote.finish(
      aWorker('worker'),
      runId,
      { leaseGeneration, dispatcherGeneration, seq: 1 },
      { type: 'complete' },
    );
    expect(await claim()).toHaveLength(1);
  });
});
