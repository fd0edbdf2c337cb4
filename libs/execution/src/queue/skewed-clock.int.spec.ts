import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { CancelPolicy } from '@app/tasks';
import { Acta, anAgent, type Replica } from '../../../../test/support/acta.js';
import { Latch, ScriptedAgent, untilAborted } from '../../../../test/support/scripted-agent.js';
import { aMember, aWorker } from '../../../../test/support/tasks.js';

const HOUR_MS = 3_600_000;
const BACKOFF_MS = 60_000;
const GRACE_MS = 60_000;

const alice = aMember('alice');
const worker = aWorker('worker');
const agent = new ScriptedAgent();
agent.on('retries', (ctx) => {
  if (ctx.attempt === 1) throw Object.assign(new Error('busy'), { retryable: true });
});
agent.on('is lost', untilAborted);
agent.on('hears of it', () => ends.opened);
let ends: Latch;
let acta: Acta;
beforeEach(async () => {
  acta = await Acta.open();
  ends = new Latch();
});
afterEach(async () => {
  jest.restoreAllMocks();
  await acta?.close();
});

/** By the database's clock. */
async function now(): Promise<number> {
  const [row] = await acta.sql<{ at: Date }>('select clock_timestamp() as at');
  return row!.at.getTime();
}

function retriedIn(replica: Replica, taskId: string) {
  return replica.until(alice.tenantId, taskId, ({ run, notBefore }) => run?.outcome === 'lost' && notBefore !== null);
}

describe.each([
  ['ahead', HOUR_MS],
  ['behind', -HOUR_MS],
])('a process whose clock is an hour %s', (_, skewMs) => {
  let replica: Replica;
  beforeEach(async () => {
    const real = Date.now.bind(Date);
    const skewed = () => real() + skewMs;
    jest.spyOn(Date, 'now').mockImplementation(skewed);
    replica = await acta.replica({
      agents: [agent.definition, anAgent(undefined)],
      now: () => new Date(skewed()),
      cancel: new CancelPolicy('fence', GRACE_MS),
      retry: { attempts: 3, backoffMs: BACKOFF_MS },
    });
  });

  const ways: [string, () => Promise<string>][] = [
    ['that its agent asks for', () => replica.submit(alice, 'retries')],
    [
      'that a remote worker asks for',
      async () => {
        const taskId = await replica.submit(alice, 'remote', { agent: 'tester' });
        const [run] = await replica.remote.claim(worker, {}, new AbortController().signal);
        await replica.remote.finish(worker, run!.runId, { ...run!, seq: 1 }, { type: 'retry' });
        return taskId;
      },
    ],
    [
      'of a run that was lost again',
      async () => {
        const taskId = await replica.submit(alice, 'is lost');
        for (const attempt of [1, 2]) {
          await replica.until(alice.tenantId, taskId, ({ run }) => run?.attempt === attempt);
          await acta.sql(`update run_queue set lease_expires_at = clock_timestamp() where task_id = $1`, [taskId]);
          await replica.reaper.sweep();
        }
        return taskId;
      },
    ],
  ];
  it.each(ways)('lets a retry %s wait its backoff, no more and no less', async (_way, lose) => {
    const before = await now();
    const taskId = await lose();
    const { notBefore } = await retriedIn(replica, taskId);
    const due = Date.parse(notBefore!);
    expect(due).toBeGreaterThanOrEqual(before + BACKOFF_MS / 2);
    expect(due).toBeLessThanOrEqual((await now()) + BACKOFF_MS);
    expect(await replica.queue.waiting(['scripted', 'tester'], 10, replica.database.pool)).toEqual([]);
  });

  it('lets a cancel wait its grace, no more and no less', async () => {
    const taskId = await replica.submit(alice, 'hears of it');
    await replica.until(alice.tenantId, taskId, ({ run }) => run !== null);
    const before = await now();
    const canceling = replica.cancel(alice, taskId);
    const { cancelDeadline } = await replica.until(alice.tenantId, taskId, (state) => state.cancelDeadline !== null);
    const due = Date.parse(cancelDeadline!);
    expect(due).toBeGreaterThanOrEqual(before + GRACE_MS);
    expect(due).toBeLessThanOrEqual((await now()) + GRACE_MS);
    // Any replica's: none of them ends the task before that.
    await replica.reaper.sweep();
    expect((await replica.get(alice, taskId)).state.status).toBe('working');
    ends.open();
    expect((await canceling).state.status).toBe('canceled');
  });

  it('holds its runs by the lease that the database keeps', async () => {
    const taskId = await replica.submit(alice, 'is lost');
    const { run } = await replica.until(alice.tenantId, taskId, (state) => state.run !== null);
    const held = [{ tenantId: alice.tenantId, taskId, runId: run!.id }];
    await replica.reaper.sweep();
    expect(await replica.queue.heartbeat(held, 30_000)).toHaveLength(1);
    await acta.sql(`update run_queue set lease_expires_at = clock_timestamp() where task_id = $1`, [taskId]);
    expect(await replica.queue.heartbeat(held, 30_000)).toEqual([]);
  });
});
