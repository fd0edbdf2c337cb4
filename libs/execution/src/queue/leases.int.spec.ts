import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DomainError, textOf } from '@app/domain';
import { Acta, type Replica } from '../../../../test/support/acta.js';
import { Latch, ScriptedAgent } from '../../../../test/support/scripted-agent.js';
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

const eventsOf = (taskId: string) => api.events(alice.tenantId, taskId);
const typesOf = async (taskId: string) => (await eventsOf(taskId)).map(({ type }) => type);
const untilCompleted = (taskId: string) => api.until(alice.tenantId, taskId, ({ status }) => status === 'completed');
const untilStarted = (taskId: string) => api.until(alice.tenantId, taskId, ({ run }) => run?.endedAt === null);

const replicaWithoutHeartbeats = () => acta.replica({ agents: [agent.definition], heartbeats: 'blocked' });

describe('A lease', () => {
  // F19
  it('fences a paused worker after the task was reclaimed: its writes fail and its signal aborts', async () => {
    const paused = await replicaWithoutHeartbeats();
    const resume = new Latch();
    const over = new Latch();
    let aborted = false;
    const errors: unknown[] = [];
    agent.on('paused', async (ctx) => {
      if (ctx.attempt > 1) return ctx.artifact({ parts: [{ text: 'of the second' }] });
      await ctx.artifact({ parts: [{ text: 'of the first' }] });
      await resume.opened;
      await ctx.artifact({ id: 'late', parts: [{ text: 'late' }] }).catch((error: unknown) => errors.push(error));
      await ctx.complete('late').catch((error: unknown) => errors.push(error));
      aborted = ctx.signal.aborted;
      over.open();
    });
    const taskId = await paused.submit(alice, 'paused');
    await paused.until(alice.tenantId, taskId, (state) => state.run?.artifacts.length === 1);
    // A paused process receives no wake-ups either.
    await paused.wakeups.close();
    await acta.expireLease(taskId);
    await api.reaper.sweep();
    const other = await acta.replica({ agents: [agent.definition] });
    await untilCompleted(taskId);
    const before = await eventsOf(taskId);
    resume.open();
    await over.opened;
    expect(aborted).toBe(true);
    expect(errors.every((error) => DomainError.is(error, 'Fenced'))).toBe(true);
    expect(errors.length).toBeGreaterThan(0);
    expect(await eventsOf(taskId)).toEqual(before);
    const view = await api.get(alice, taskId);
    expect(view.artifacts).toEqual([{ artifactId: 'artifact', parts: [{ text: 'of the second' }] }]);
    await Promise.all([paused.close(), other.close()]);
  });

  // F19: the lease has expired, but the task is not reclaimed yet.
  it('fences a paused worker as soon as it expires', async () => {
    const paused = await replicaWithoutHeartbeats();
    const resume = new Latch();
    const over = new Latch();
    agent.on('expired', async (ctx) => {
      await resume.opened;
      await expect(ctx.complete('late')).rejects.toMatchObject({ kind: 'Fenced' });
      over.open();
    });
    const taskId = await paused.submit(alice, 'expired');
    await untilStarted(taskId);
    await acta.expireLease(taskId);
    resume.open();
    await over.opened;
    expect(await typesOf(taskId)).toEqual(['TaskSubmitted', 'MessageAccepted', 'RunStarted']);
    await paused.close();
  });

  // F21
  it('survives a single failed heartbeat', async () => {
    const replica = await acta.replica({ agents: [agent.definition], leaseMs: 400 });
    const heartbeat = replica.queue.heartbeat.bind(replica.queue);
    const failed = new Latch();
    const renewed = new Latch();
    replica.queue.heartbeat = () => {
      replica.queue.heartbeat = async (runs) => {
        const leases = await heartbeat(runs);
        renewed.open();
        return leases;
      };
      failed.open();
      return Promise.reject(new Error('the network is unavailable'));
    };
    agent.on('one heartbeat lost', async (ctx) => {
      await renewed.opened;
      await ctx.complete(`attempt ${ctx.attempt}`);
    });
    const view = await replica.sendAndWait(alice, 'one heartbeat lost');
    await failed.opened;
    expect(textOf(view.statusMessage!)).toBe('attempt 1');
    await replica.close();
  });

  it('is not renewed by a heartbeat that waited for the row until the lease had expired', async () => {
    const replica = await replicaWithoutHeartbeats();
    const gate = new Latch();
    agent.on('delayed', () => gate.opened);
    const taskId = await replica.submit(alice, 'delayed');
    const { run } = await untilStarted(taskId);
    const lease = `update run_queue set lease_expires_at = clock_timestamp() + interval '300 ms' where task_id = $1`;
    await acta.sql(lease, [taskId]);
    const { renewed } = await api.database.transaction(async (executor) => {
      await executor.query('select from run_queue where task_id = $1 for update', [taskId]);
      const waiting = api.queue.heartbeat([{ tenantId: alice.tenantId, taskId, runId: run!.id }]);
      await executor.query('select pg_sleep(0.4)');
      return { renewed: waiting };
    });
    expect(await renewed).toEqual([]);
    gate.open();
  });

  it('is kept when the database is unavailable for the first read of a run', async () => {
    const replica = await acta.replica({ agents: [agent.definition] });
    const { reader } = replica;
    const read = reader.conversation.bind(reader);
    reader.conversation = () => {
      reader.conversation = read;
      return Promise.reject(new Error('Connection terminated unexpectedly'));
    };
    agent.on('read twice', (ctx) => ctx.complete(`attempt ${ctx.attempt}`));
    // The task comes from a different process, so the worker must read its messages.
    const taskId = await api.submit(alice, 'read twice');
    await untilCompleted(taskId);
    expect(textOf((await api.get(alice, taskId)).statusMessage!)).toBe('attempt 1');
    await replica.close();
  });
});
