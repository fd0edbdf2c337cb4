import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DomainError, type TaskView, textOf } from '@app/domain';
import { Acta, anAgent, type Replica } from '../../../../test/support/acta.js';
import { Latch, ScriptedAgent, untilAborted } from '../../../../test/support/scripted-agent.js';
import { aMember } from '../../../../test/support/tasks.js';

const alice = aMember('alice');
const agent = new ScriptedAgent();
let acta: Acta;
/** Takes nothing by itself: a second worker that a test starts when it wants one. */
let watcher: Replica;
beforeEach(async () => {
  acta = await Acta.open();
  watcher = await acta.replica({ agents: [agent.definition], concurrency: 0 });
});
afterEach(() => acta?.close());

const eventsOf = (taskId: string) => watcher.events(alice.tenantId, taskId);
const typesOf = async (taskId: string) => (await eventsOf(taskId)).map((event) => event.type);
const until = (taskId: string, status: string) => watcher.until(alice.tenantId, taskId, (s) => s.status === status);
const started = (taskId: string) =>
  watcher.until(alice.tenantId, taskId, (state) => state.run !== null && state.run.endedAt === null);
/** Lets the lease of a run pass, once it has one. */
async function expire(taskId: string): Promise<void> {
  await started(taskId);
  await acta.sql(`update run_queue set lease_expires_at = now() - interval '1 second' where task_id = $1`, [taskId]);
}
const leaseOf = async (taskId: string) =>
  (await acta.sql<{ at: Date }>('select lease_expires_at as at from run_queue where task_id = $1', [taskId]))[0]!.at;

/** A worker whose heartbeats do not get through, as of a process that is stopped. */
async function deafWorker(): Promise<Replica> {
  const replica = await acta.replica({ agents: [agent.definition] });
  replica.queue.heartbeat = () => new Promise(() => undefined);
  return replica;
}

describe('a worker that was paused past its lease', () => {
  // F19
  it('writes nothing once another has taken over, and its signal aborts', async () => {
    const paused = await deafWorker();
    const wake = new Latch();
    const over = new Latch();
    let aborted = false;
    const errors: unknown[] = [];
    agent.on('paused', async (ctx) => {
      if (ctx.attempt > 1) return ctx.artifact({ parts: [{ text: 'of the second' }] });
      await ctx.artifact({ parts: [{ text: 'of the first' }] });
      await wake.opened;
      await ctx.artifact({ id: 'late', parts: [{ text: 'late' }] }).catch((error: unknown) => errors.push(error));
      await ctx.complete('late').catch((error: unknown) => errors.push(error));
      aborted = ctx.signal.aborted;
      over.open();
    });
    const taskId = await paused.submit(alice, 'paused');
    await paused.until(alice.tenantId, taskId, (state) => state.run?.artifacts.length === 1);
    // Stopped: it hears of nothing either.
    await paused.wakeups.close();
    await expire(taskId);
    await watcher.reaper.sweep();
    const other = await acta.replica({ agents: [agent.definition] });
    await until(taskId, 'completed');
    const before = await eventsOf(taskId);
    wake.open();
    await over.opened;
    expect(aborted).toBe(true);
    expect(errors.every((error) => DomainError.is(error, 'Fenced'))).toBe(true);
    expect(errors.length).toBeGreaterThan(0);
    expect(await eventsOf(taskId)).toEqual(before);
    const view = await watcher.get(alice, taskId);
    expect(view.artifacts).toEqual([{ artifactId: 'artifact', parts: [{ text: 'of the second' }] }]);
    await Promise.all([paused.close(), other.close()]);
  });

  // F19: the lease has passed, though nobody has taken over yet.
  it('writes nothing after its lease, even before another takes over', async () => {
    const paused = await deafWorker();
    const wake = new Latch();
    const over = new Latch();
    agent.on('expired', async (ctx) => {
      await wake.opened;
      await expect(ctx.complete('late')).rejects.toMatchObject({ kind: 'Fenced' });
      over.open();
    });
    const taskId = await paused.submit(alice, 'expired');
    await expire(taskId);
    wake.open();
    await over.opened;
    expect(await typesOf(taskId)).toEqual(['TaskSubmitted', 'MessageAccepted', 'RunStarted']);
    await paused.close();
  });
});

describe('the reaper', () => {
  // F14, second half
  it('takes the artifacts of a lost run out of the view, and the retry’s stand alone; the log keeps both', async () => {
    const worker = await deafWorker();
    agent.on('three chunks', async (ctx) => {
      for (const text of ['a', 'b', 'c'])
        await ctx.artifact({ id: 'out', parts: [{ text: `${text}${ctx.attempt} ` }] });
      if (ctx.attempt === 1) return untilAborted(ctx);
    });
    const taskId = await worker.submit(alice, 'three chunks');
    await worker.until(alice.tenantId, taskId, (state) => (state.run?.seq ?? 0) >= 1);
    await expire(taskId);
    await watcher.reaper.sweep();
    expect((await watcher.get(alice, taskId)).artifacts).toEqual([]);
    await until(taskId, 'completed');
    const view = await watcher.get(alice, taskId);
    expect(view.artifacts).toEqual([{ artifactId: 'out', parts: [{ text: 'a2 b2 c2 ' }] }]);
    const published = (await eventsOf(taskId)).filter((event) => event.type === 'ArtifactPublished');
    expect(JSON.stringify(published)).toContain('a1 ');
    await worker.close();
  });

  // F20
  it('fails the task, with a reason, when all attempts are lost', async () => {
    const worker = await deafWorker();
    let attempts = 0;
    agent.on('always lost', (ctx) => {
      attempts += 1;
      return untilAborted(ctx);
    });
    const { taskId, follower } = await worker.send(alice, 'always lost');
    const waiting = follower.untilOutcome();
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      await worker.until(
        alice.tenantId,
        taskId,
        (state) => state.run?.attempt === attempt && state.run.outcome === null,
      );
      await expire(taskId);
      await watcher.reaper.sweep();
    }
    expect((await waiting).status).toBe('failed');
    const view = await watcher.get(alice, taskId);
    expect(textOf(view.statusMessage!)).toBe('all 3 attempts were lost; the last one: lease-expired');
    expect(attempts).toBe(3);
    expect(await acta.sql('select from run_queue')).toEqual([]);
    await worker.close();
  });

  it('lets another worker take over at once, and what is lost again wait its backoff, which no worker shortens', async () => {
    const slow = await acta.replica({ concurrency: 0, retry: { attempts: 3, backoffMs: 60_000 } });
    const worker = await deafWorker();
    agent.on('backs off', untilAborted);
    const taskId = await worker.submit(alice, 'backs off');
    for (const attempt of [1, 2]) {
      await worker.until(alice.tenantId, taskId, ({ run }) => run?.attempt === attempt);
      await expire(taskId);
      await slow.reaper.sweep();
    }
    const { notBefore, recordedAt, run } = (await worker.log.head(alice.tenantId, taskId))!.head.state;
    expect(Date.parse(notBefore!) - Date.parse(recordedAt)).toBeGreaterThanOrEqual(30_000 - 5);
    expect(run?.outcome).toBe('lost');
    expect(await worker.queue.waiting(['scripted'], 10, worker.database.pool)).toEqual([]);
    await watcher.cancel(alice, taskId);
    await worker.close();
  });

  it('takes nothing from a worker whose heartbeats come', async () => {
    const worker = await acta.replica({ agents: [agent.definition], leaseMs: 1_500 });
    const latch = new Latch();
    agent.on('long', () => latch.opened);
    const taskId = await worker.submit(alice, 'long');
    await started(taskId);
    const granted = await leaseOf(taskId);
    while ((await leaseOf(taskId)).getTime() < granted.getTime() + 400) await watcher.reaper.sweep();
    expect(await typesOf(taskId)).toEqual(['TaskSubmitted', 'MessageAccepted', 'RunStarted']);
    latch.open();
    await until(taskId, 'completed');
    await worker.close();
  });
});

// F21
it('a heartbeat that fails once costs no run', async () => {
  const worker = await acta.replica({ agents: [agent.definition], leaseMs: 400 });
  const beat = worker.queue.heartbeat.bind(worker.queue);
  const failed = new Latch();
  const renewed = new Latch();
  worker.queue.heartbeat = () => {
    worker.queue.heartbeat = async (...again) => {
      const beats = await beat(...again);
      renewed.open();
      return beats;
    };
    failed.open();
    return Promise.reject(new Error('the network is gone'));
  };
  agent.on('one beat lost', async (ctx) => {
    await renewed.opened;
    await ctx.complete(`attempt ${ctx.attempt}`);
  });
  const view = await worker.sendAndWait(alice, 'one beat lost');
  await failed.opened;
  expect(textOf(view.statusMessage!)).toBe('attempt 1');
  await worker.close();
});

it('a heartbeat that had to wait past the end of its lease renews nothing', async () => {
  const worker = await deafWorker();
  const latch = new Latch();
  agent.on('held up', () => latch.opened);
  const taskId = await worker.submit(alice, 'held up');
  const { run } = await started(taskId);
  const lease = `update run_queue set lease_expires_at = clock_timestamp() + interval '300 ms' where task_id = $1`;
  await acta.sql(lease, [taskId]);
  const { beat } = await watcher.database.transaction(async (executor) => {
    await executor.query('select from run_queue where task_id = $1 for update', [taskId]);
    const waiting = watcher.queue.heartbeat([{ tenantId: alice.tenantId, taskId, runId: run!.id }], 60_000);
    await executor.query('select pg_sleep(0.4)');
    return { beat: waiting };
  });
  expect(await beat).toEqual([]);
  latch.open();
});

it('a database that is away while a run begins costs no run either', async () => {
  const worker = await acta.replica({ agents: [agent.definition] });
  const { reader } = worker;
  const read = reader.conversation.bind(reader);
  reader.conversation = () => {
    reader.conversation = read;
    return Promise.reject(new Error('Connection terminated unexpectedly'));
  };
  agent.on('read twice', (ctx) => ctx.complete(`attempt ${ctx.attempt}`));
  // Of a task that came in elsewhere, the worker must read what was said.
  const taskId = await watcher.submit(alice, 'read twice');
  await until(taskId, 'completed');
  expect(textOf((await watcher.get(alice, taskId)).statusMessage!)).toBe('attempt 1');
  await worker.close();
});

describe('the queue row', () => {
  // F22
  it('is there as soon as its task is, whatever happens to the process: both come in one transaction', async () => {
    const taskId = await watcher.submit(alice, 'queued and nothing else');
    const [row] = await acta.sql<{ same: boolean }>(
      `select bool_and(e.transaction_id::xid = q.xmin and t.xmin = q.xmin) as same
       from run_queue q join task t using (tenant_id, task_id) join event e using (tenant_id, task_id)
       where q.task_id = $1`,
      [taskId],
    );
    expect(row).toEqual({ same: true });
    await watcher.cancel(alice, taskId);
  });

  it('hands a run that its process gives back to the next at once, and does not count it', async () => {
    const leaving = await acta.replica({ agents: [agent.definition] });
    const attempts: number[] = [];
    agent.on('handed back', (ctx) => {
      attempts.push(ctx.attempt);
      return attempts.length === 1 ? untilAborted(ctx) : ctx.complete();
    });
    const taskId = await leaving.submit(alice, 'handed back');
    await leaving.until(alice.tenantId, taskId, () => attempts.length === 1);
    const next = await acta.replica({ agents: [agent.definition] });
    await leaving.close();
    await until(taskId, 'completed');
    expect(attempts).toEqual([1, 1]);
    await next.close();
  });

  it('gives an agent no more runs at a time than it takes, also to a message that comes during a claim', async () => {
    let now = 0;
    let most = 0;
    const narrow = anAgent(
      async () => {
        now += 1;
        most = Math.max(most, now);
        await new Promise((resolve) => setTimeout(resolve, 30));
        now -= 1;
      },
      { name: 'narrow', concurrency: 1 },
    );
    const accepts = await acta.replica({ agents: [narrow], concurrency: 0 });
    const worker = await acta.replica({ agents: [narrow], concurrency: 8 });
    const between: Promise<TaskView>[] = [];
    const waiting = worker.queue.waiting.bind(worker.queue);
    worker.queue.waiting = async (...args) => {
      const tasks = await waiting(...args);
      if (tasks.length > 0) between.push(worker.sendAndWait(alice, `during claim ${between.length}`));
      if (tasks.length > 0) await worker.send(alice, `slot ${between.length}`).then(({ follower }) => follower.close());
      if (between.length > 10) worker.queue.waiting = waiting;
      return tasks;
    };
    const asks = Array.from({ length: 10 }, (_, n) => accepts.sendAndWait(alice, `narrow ${n}`));
    for (const view of await Promise.all(asks)) expect(view.state.status).toBe('completed');
    await Promise.all(between);
    expect(most).toBe(1);
    await worker.close(1_000);
  });
});
