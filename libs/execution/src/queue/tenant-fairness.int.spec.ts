import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Acta, type Replica } from '../../../../test/support/acta.js';
import { anAgent } from '../../../../test/support/replica-agents.js';
import { sizeOf } from '../../../../test/support/extended.js';
import { Latch, ScriptedAgent } from '../../../../test/support/scripted-agent.js';
import { aMember, aMessage, aWorker } from '../../../../test/support/tasks.js';

const alice = aMember('alice');
const other = aMember('bob', { tenantId: 'umbrella' });
const WAITING = sizeOf({ smoke: 800, full: 2_000 });
let acta: Acta;

beforeEach(async () => {
  acta = await Acta.open();
});
afterEach(() => acta?.close());

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function storedRows() {
  const [row] = await acta.sql(`select (select count(*) from event) as events, (select count(*) from task) as tasks,
      (select count(*) from message_receipt) as receipts, (select count(*) from context) as contexts`);
  return row;
}

async function waitingCount(): Promise<number> {
  const [row] = await acta.sql<{ n: number }>('select count(*)::integer as n from run_queue where run_id is null');
  return row!.n;
}

/** The tenants of all started runs, in the order of their starts. */
async function startedTenants(): Promise<string[]> {
  const rows = await acta.sql<{ tenant: string }>(
    `select tenant_id as tenant from event where type = 'RunStarted' order by position`,
  );
  return rows.map(({ tenant }) => tenant);
}

async function activeRuns(): Promise<[string, number][]> {
  const rows = await acta.sql<{ tenant: string; n: number }>(
    `select tenant_id as tenant, count(*)::integer as n from run_queue where run_id is not null group by 1 order by 1`,
  );
  return rows.map(({ tenant, n }) => [tenant, n]);
}

describe('A tenant whose queue is full', () => {
  let api: Replica;
  beforeEach(async () => {
    api = await acta.replica({ concurrency: 0, queuedPerTenant: 3 });
    for (const n of [1, 2, 3]) await api.submit(alice, `task ${n}`);
  });

  it('gets Overloaded with a retry time for a new task, of which nothing is stored', async () => {
    const before = await storedRows();
    await expect(api.submit(alice, 'too much')).rejects.toMatchObject({
      kind: 'Overloaded',
      details: { retryAfterSeconds: 5 },
    });
    expect(await storedRows()).toEqual(before);
  });

  it('does not affect a different tenant', async () => {
    await api.submit(other, 'of the other tenant');
  });

  it('gets the task of a replayed message, and can continue the task', async () => {
    const first = await api.submit(alice, 'task 1');
    expect(await api.list(alice)).toMatchObject({ totalSize: 3 });
    await api.submit(alice, aMessage('and this'), { taskId: first });
    const changed = { ...aMessage('changed'), messageId: aMessage('task 1').messageId };
    await expect(api.submit(alice, changed)).rejects.toMatchObject({ kind: 'InvalidParameters' });
  });

  it('can submit a task again after one task was canceled or claimed', async () => {
    const first = await api.submit(alice, 'task 1');
    await api.cancel(alice, first);
    await api.submit(alice, 'after the cancel');
    const gate = new Latch();
    const slow = anAgent(() => gate.opened);
    const worker = await acta.replica({ agents: [slow], concurrency: 1 });
    while ((await waitingCount()) > 2) await pause(10);
    await api.submit(alice, 'after the claim');
    gate.open();
    await worker.close(1_000);
  });
});

describe('A tenant with many waiting tasks', () => {
  it.each([1, 16])(
    `delays a task of a different tenant by a few claims (${WAITING} tasks, slots of the worker: %i)`,
    async (slots) => {
      const api = await acta.replica({ concurrency: 0 });
      for (let sent = 0; sent < WAITING; sent += 100) {
        await Promise.all(Array.from({ length: 100 }, (_, n) => api.submit(alice, `task ${sent + n}`)));
      }
      const gate = new Latch();
      const agent = new ScriptedAgent({ name: 'tester' });
      agent.on('the single one', () => gate.open());
      const worker = await acta.replica({ agents: [agent.definition], concurrency: slots });
      while ((await startedTenants()).length < 20) await pause(5);
      const taskId = await api.submit(other, 'the single one');
      const [before] = await acta.sql<{ n: number }>(
        `select count(*)::integer as n from event where type = 'RunStarted' and position <
        (select min(position) from event where tenant_id = $1)`,
        [other.tenantId],
      );
      await gate.opened;
      await api.until(other.tenantId, taskId, (state) => state.status === 'completed');
      // A claim may have started already. The next one includes the task.
      expect((await startedTenants()).indexOf(other.tenantId) - before!.n).toBeLessThanOrEqual(2 * slots + 1);
      expect(await waitingCount()).toBeGreaterThan(sizeOf({ smoke: 0, full: 1_000 }));
      await worker.close();
    },
  );
});

describe('A limit of two active runs per tenant', () => {
  const limited = { runningPerTenant: 2 } as const;

  it('applies to all workers together, also to a message that arrives at a worker with a free slot', async () => {
    const activeByOwner = new Map<string, number>();
    let maximum = 0;
    const agent = anAgent(async ({ task: { owner } }) => {
      activeByOwner.set(owner, (activeByOwner.get(owner) ?? 0) + 1);
      maximum = Math.max(maximum, activeByOwner.get(owner)!);
      await pause(10);
      activeByOwner.set(owner, activeByOwner.get(owner)! - 1);
    });
    const workers = await Promise.all(
      [1, 2, 3].map(() => acta.replica({ agents: [agent], concurrency: 8, ...limited })),
    );
    const sends = Array.from({ length: 60 }, (_, n) =>
      workers[n % 3]!.sendAndWait(n % 2 === 0 ? alice : other, `task ${n}`).then(({ state }) => state.status),
    );
    expect(new Set(await Promise.all(sends))).toEqual(new Set(['completed']));
    expect(maximum).toBe(2);
  });

  it('leaves the other slots to other tenants, and starts a waiting run when an active run ends', async () => {
    const gates = new Map<string, Latch>();
    const agent = anAgent(async (ctx) => {
      gates.set(ctx.text, new Latch());
      await gates.get(ctx.text)!.opened;
    });
    const api = await acta.replica({ concurrency: 0, ...limited });
    for (const n of [1, 2, 3, 4]) await api.submit(alice, `own ${n}`);
    await api.submit(other, 'other');
    const worker = await acta.replica({ agents: [agent], concurrency: 8, ...limited });
    while (gates.size < 3) await pause(5);
    expect(await activeRuns()).toEqual([
      ['acme', 2],
      ['umbrella', 1],
    ]);
    gates.get('own 1')!.open();
    while (gates.size < 4) await pause(5);
    expect([...gates.keys()].toSorted()).toEqual(['other', 'own 1', 'own 2', 'own 3']);
    expect(await activeRuns()).toEqual([
      ['acme', 2],
      ['umbrella', 1],
    ]);
    for (const gate of gates.values()) gate.open();
    while (gates.size < 5) await pause(5);
    gates.get('own 4')!.open();
    await worker.close(5_000);
  });

  it('counts the runs of remote workers', async () => {
    const api = await acta.replica({ agents: [anAgent(undefined)], ...limited });
    for (const n of [1, 2, 3]) await api.submit(alice, `task ${n}`);
    const worker = aWorker('worker');
    const claim = () => api.workerClaims.claim(worker, { limit: 32 }, new AbortController().signal);
    const claimed = (await Promise.all([claim(), claim(), claim()])).flat();
    expect(claimed).toHaveLength(2);
    expect(await claim()).toEqual([]);
    const { runId, leaseGeneration, dispatcherGeneration } = claimed[0]!;
    const write = { leaseGeneration, dispatcherGeneration, seq: 1 };
    await api.workerRuns.finish(worker, runId, write, { type: 'complete' });
    expect(await claim()).toHaveLength(1);
  });
});
