import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { CancelPolicy } from '@app/tasks';
import { Acta, type Replica } from '../../../../test/support/acta.js';
import { anAgent } from '../../../../test/support/replica-agents.js';
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
agent.on('ends later', () => end.opened);
let end: Latch;
let acta: Acta;

beforeEach(async () => {
  acta = await Acta.open();
  end = new Latch();
});
afterEach(async () => {
  jest.restoreAllMocks();
  await acta?.close();
});

async function databaseTime(): Promise<number> {
  const [row] = await acta.sql<{ time: Date }>('select clock_timestamp() as time');
  return row!.time.getTime();
}

const untilRetried = (replica: Replica, taskId: string) =>
  replica.until(alice.tenantId, taskId, ({ run, notBefore }) => run?.outcome === 'lost' && notBefore !== null);

describe.each([
  ['ahead', HOUR_MS],
  ['behind', -HOUR_MS],
])('A process whose clock is one hour %s', (_, skewMs) => {
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

  const losses: [string, () => Promise<string>][] = [
    ['that its agent requests', () => replica.submit(alice, 'retries')],
    [
      'that a remote worker requests',
      async () => {
        const taskId = await replica.submit(alice, 'remote', { agent: 'tester' });
        const [run] = await replica.workerClaims.claim(worker, {}, new AbortController().signal);
        await replica.workerRuns.finish(worker, run!.runId, { ...run!, seq: 1 }, { type: 'retry' });
        return taskId;
      },
    ],
    [
      'of a run that was lost twice',
      async () => {
        const taskId = await replica.submit(alice, 'is lost');
        for (const attempt of [1, 2]) {
          await replica.until(alice.tenantId, taskId, ({ run }) => run?.attempt === attempt);
          await acta.expireLease(taskId);
          await replica.reaper.sweep();
        }
        return taskId;
      },
    ],
  ];
  it.each(losses)('delays a retry %s by exactly its backoff', async (_loss, loseRun) => {
    const before = await databaseTime();
    const taskId = await loseRun();
    const { notBefore } = await untilRetried(replica, taskId);
    const due = Date.parse(notBefore!);
    expect(due).toBeGreaterThanOrEqual(before + BACKOFF_MS / 2);
    expect(due).toBeLessThanOrEqual((await databaseTime()) + BACKOFF_MS);
    expect(await replica.queue.lockWaiting(['scripted', 'tester'], 10, replica.database.pool)).toEqual([]);
  });

  it('gives a canceled run exactly its grace period', async () => {
    const taskId = await replica.submit(alice, 'ends later');
    await replica.until(alice.tenantId, taskId, ({ run }) => run !== null);
    const before = await databaseTime();
    const canceling = replica.cancel(alice, taskId);
    const { cancelDeadline } = await replica.until(alice.tenantId, taskId, (state) => state.cancelDeadline !== null);
    const due = Date.parse(cancelDeadline!);
    expect(due).toBeGreaterThanOrEqual(before + GRACE_MS);
    expect(due).toBeLessThanOrEqual((await databaseTime()) + GRACE_MS);
    // No reaper ends the task before the deadline.
    await replica.reaper.sweep();
    expect((await replica.get(alice, taskId)).state.status).toBe('working');
    end.open();
    expect((await canceling).state.status).toBe('canceled');
  });

  it('holds its runs for as long as the lease lasts in database time', async () => {
    const taskId = await replica.submit(alice, 'is lost');
    const { run } = await replica.until(alice.tenantId, taskId, (state) => state.run !== null);
    const runs = [{ tenantId: alice.tenantId, taskId, runId: run!.id }];
    await replica.reaper.sweep();
    expect(await replica.queue.heartbeat(runs)).toHaveLength(1);
    await acta.expireLease(taskId);
    expect(await replica.queue.heartbeat(runs)).toEqual([]);
  });
});
