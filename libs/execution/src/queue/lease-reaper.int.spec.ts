import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { textOf } from '@app/domain';
import { Acta, type Replica } from '../../../../test/support/acta.js';
import { Latch, ScriptedAgent, untilAborted } from '../../../../test/support/scripted-agent.js';
import { aMember } from '../../../../test/support/tasks.js';

const alice = aMember('alice');
const agent = new ScriptedAgent();
let acta: Acta;
/** A replica that executes no runs. */
let api: Replica;

beforeEach(async () => {
  acta = await Acta.open();
  api = await acta.replica({ agents: [agent.definition], concurrency: 0 });
});
afterEach(() => acta?.close());

const untilCompleted = (taskId: string) => api.until(alice.tenantId, taskId, ({ status }) => status === 'completed');

const replicaWithoutHeartbeats = () => acta.replica({ agents: [agent.definition], heartbeats: 'blocked' });

describe('LeaseReaper', () => {
  // F14, second half
  it('removes the artifacts of a lost run from the view but not from the log', async () => {
    const worker = await replicaWithoutHeartbeats();
    agent.on('three chunks', async (ctx) => {
      for (const text of ['a', 'b', 'c']) {
        await ctx.artifact({ id: 'out', parts: [{ text: `${text}${ctx.attempt} ` }] });
      }
      if (ctx.attempt === 1) return untilAborted(ctx);
    });
    const taskId = await worker.submit(alice, 'three chunks');
    await worker.until(alice.tenantId, taskId, (state) => (state.run?.seq ?? 0) >= 1);
    await acta.expireLease(taskId);
    await api.reaper.sweep();
    expect((await api.get(alice, taskId)).artifacts).toEqual([]);
    await untilCompleted(taskId);
    const view = await api.get(alice, taskId);
    expect(view.artifacts).toEqual([{ artifactId: 'out', parts: [{ text: 'a2 b2 c2 ' }] }]);
    const events = await api.events(alice.tenantId, taskId);
    const published = events.filter((event) => event.type === 'ArtifactPublished');
    expect(JSON.stringify(published)).toContain('a1 ');
    await worker.close();
  });

  // F20
  it('fails the task with a reason when all attempts are lost', async () => {
    const worker = await replicaWithoutHeartbeats();
    let attempts = 0;
    agent.on('always lost', (ctx) => {
      attempts += 1;
      return untilAborted(ctx);
    });
    const { taskId, follower } = await worker.send(alice, 'always lost');
    const waiting = follower.untilOutcome();
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      await worker.until(alice.tenantId, taskId, ({ run }) => run?.attempt === attempt && run.outcome === null);
      await acta.expireLease(taskId);
      await api.reaper.sweep();
    }
    expect((await waiting).status).toBe('failed');
    const view = await api.get(alice, taskId);
    expect(textOf(view.statusMessage!)).toBe('all 3 attempts were lost; the last one: lease-expired');
    expect(attempts).toBe(3);
    expect(await acta.sql('select from run_queue')).toEqual([]);
    await worker.close();
  });

  it('retries a lost run immediately, and a run that is lost again only after its backoff', async () => {
    const backoff = await acta.replica({ concurrency: 0, retry: { attempts: 3, backoffMs: 60_000 } });
    const worker = await replicaWithoutHeartbeats();
    agent.on('backs off', untilAborted);
    const taskId = await worker.submit(alice, 'backs off');
    for (const attempt of [1, 2]) {
      await worker.until(alice.tenantId, taskId, ({ run }) => run?.attempt === attempt);
      await acta.expireLease(taskId);
      await backoff.reaper.sweep();
    }
    const { notBefore, recordedAt, run } = (await worker.log.head(alice.tenantId, taskId))!.state;
    expect(Date.parse(notBefore!) - Date.parse(recordedAt)).toBeGreaterThanOrEqual(30_000 - 5);
    expect(run?.outcome).toBe('lost');
    expect(await worker.queue.lockWaiting(['scripted'], 10, worker.database.pool)).toEqual([]);
    await api.cancel(alice, taskId);
    await worker.close();
  });

  it('reclaims nothing from a worker that sends heartbeats', async () => {
    const worker = await acta.replica({ agents: [agent.definition], leaseMs: 1_500 });
    const gate = new Latch();
    agent.on('long', () => gate.opened);
    const taskId = await worker.submit(alice, 'long');
    await api.until(alice.tenantId, taskId, ({ run }) => run?.endedAt === null);
    const firstEnd = await acta.leaseEndOf(taskId);
    while ((await acta.leaseEndOf(taskId)) < firstEnd + 400) await api.reaper.sweep();
    const types = (await api.events(alice.tenantId, taskId)).map(({ type }) => type);
    expect(types).toEqual(['TaskSubmitted', 'MessageAccepted', 'RunStarted']);
    gate.open();
    await untilCompleted(taskId);
    await worker.close();
  });
});
