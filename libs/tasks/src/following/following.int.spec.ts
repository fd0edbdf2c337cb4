import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { RecordedEvent } from '@app/domain';
import { filter, firstValueFrom } from 'rxjs';
import { Acta, type Replica } from '../../../../test/support/acta.js';
import { Latch, ScriptedAgent } from '../../../../test/support/scripted-agent.js';
import { aMember, aMessage } from '../../../../test/support/tasks.js';
import type { TaskEventSource } from './catch-up-subscription.js';
import { followTask } from './follow-task.js';

const alice = aMember('alice');
const agent = new ScriptedAgent();
let acta: Acta;
let first: Replica;
let second: Replica;
beforeAll(async () => {
  acta = await Acta.open();
  first = await acta.replica({ agents: [agent.definition] });
  second = await acta.replica({ agents: [agent.definition], concurrency: 0 });
});
afterAll(() => acta?.close());

describe('followTask', () => {
  /** Follows a task until it has completed. Returns the events as often as they came. */
  async function follow(
    source: TaskEventSource,
    taskId: string,
    after: number,
    afterEach: () => Promise<void> | void = () => undefined,
  ): Promise<RecordedEvent[]> {
    const all: RecordedEvent[] = [];
    const stop = new AbortController();
    for await (const events of followTask(source, { tenantId: alice.tenantId, taskId, after }, stop.signal)) {
      all.push(...events);
      await afterEach();
      if (events.at(-1)!.type === 'TaskCompleted') stop.abort();
    }
    return all;
  }

  const versions = (events: readonly RecordedEvent[]) => events.map((event) => event.version);
  const upTo = (last: number, after = 0) => Array.from({ length: last - after }, (_, index) => after + index + 1);

  // [A2A-STREAM-3]
  it('yields every event once and in order, on the replica that runs the task and on others, also to a slow consumer', async () => {
    const latch = new Latch();
    agent.on('many', async (ctx) => {
      await latch.opened;
      for (let n = 0; n < 300; n += 1) await ctx.working(`step ${n}`);
    });
    const taskId = await first.submit(alice, 'many');
    const followed = Promise.all([
      follow(first, taskId, 0),
      follow(second, taskId, 0),
      follow(first, taskId, 2),
      follow(first, taskId, 0, () => new Promise((resolve) => setTimeout(resolve, 20))),
    ]);
    latch.open();
    const [local, remote, later, slow] = await followed;
    const last = local.at(-1)!.version;
    expect(last).toBeGreaterThan(300);
    expect(versions(local)).toEqual(upTo(last));
    expect(versions(remote)).toEqual(upTo(last));
    expect(versions(later)).toEqual(upTo(last, 2));
    expect(versions(slow)).toEqual(upTo(last));
    expect(remote).toEqual(local);
  });

  // F8
  it('misses no event that is appended during its first read', async () => {
    const latch = new Latch();
    agent.on('during the read', async (ctx) => {
      await latch.opened;
      await ctx.complete();
    });
    const taskId = await first.submit(alice, 'during the read');
    // The read takes its snapshot before the task ends and returns afterwards.
    const reader = {
      events: async (tenantId: string, id: string, after: number, limit: number) => {
        const events = await first.log.read(tenantId, id, after, limit);
        latch.open();
        await first.until(tenantId, id, (state) => state.status === 'completed');
        return events;
      },
    };
    const events = await follow({ reader, wakeups: first.wakeups }, taskId, 0);
    expect(versions(events)).toEqual(upTo(events.at(-1)!.version));
  });

  it('ends when its signal aborts while it waits', async () => {
    agent.on('asks', (ctx) => ctx.requireInput('what?'));
    const { taskId, state } = await first.sendAndWait(alice, aMessage('asks'));
    const stop = new AbortController();
    const next = followTask(first, { tenantId: alice.tenantId, taskId, after: state.version }, stop.signal).next();
    setImmediate(() => stop.abort());
    expect(await next).toEqual({ done: true, value: undefined });
  });
});

describe('TaskFollower', () => {
  it('continues when another replica appends in between, and shows what both appended', async () => {
    const latch = new Latch();
    agent.on('between', async (ctx) => {
      await ctx.working('begun');
      await latch.opened;
      await ctx.artifact({ parts: [{ text: 'result' }] });
    });
    const { taskId, follower } = await first.send(alice, 'between');
    const outcome = follower.untilOutcome();
    await first.until(alice.tenantId, taskId, (state) => state.statusMessage !== null);
    await second.submit(alice, aMessage('from the other replica'), { taskId });
    // The first replica has received it, and the events of its own run come next.
    await first.until(alice.tenantId, taskId, (state) => state.clientMessages.count === 2);
    while (follower.current.clientMessages.count < 2) await new Promise(setImmediate);
    latch.open();
    expect((await outcome).status).toBe('completed');
    const view = (await follower.view())!;
    expect(view.history.map(({ parts }) => parts[0]!.text)).toEqual(['between', 'begun', 'from the other replica']);
    expect(view).toEqual(await second.get(alice, taskId));
  });

  it('waits on a replica that runs nothing for an outcome on another one', async () => {
    agent.on('on the other replica', (ctx) => ctx.complete('done'));
    const view = await second.sendAndWait(alice, 'on the other replica');
    expect(view.statusMessage?.parts).toEqual([{ text: 'done' }]);
    expect(view).toEqual(await first.get(alice, view.taskId));
  });

  it('reads nothing for a blocking send of a new task that runs in its own process', async () => {
    agent.on('local', async (ctx) => {
      for (let n = 0; n < 3; n += 1) await ctx.working(`step ${n}`);
      await ctx.artifact({ parts: [{ text: 'result' }] });
    });
    const reads = [jest.spyOn(first.log, 'head'), jest.spyOn(first.log, 'read'), jest.spyOn(first.reader, 'view')];
    const view = await first.sendAndWait(alice, 'local');
    for (const read of reads) {
      expect(read).not.toHaveBeenCalled();
      read.mockRestore();
    }
    expect(view).toEqual(await first.get(alice, view.taskId));
  });

  it('receives an end that falls between reading a task for a replay and following it', async () => {
    const latch = new Latch();
    agent.on('replayed', async (ctx) => {
      await latch.opened;
      await ctx.complete();
    });
    const { taskId, follower } = await first.send(alice, 'replayed');
    const replica = await acta.replica({ agents: [agent.definition], concurrency: 0 });
    // A second subscriber of the task keeps its versions from being announced again.
    const watching = replica.wakeups.changes(alice.tenantId, taskId).subscribe();
    const find = replica.access.find.bind(replica.access);
    replica.access.find = async (...args) => {
      const found = await find(...args);
      const { version } = found[0]!.state;
      const later = replica.wakeups.changes(alice.tenantId, taskId).pipe(filter((change) => change.version > version));
      const ended = firstValueFrom(later);
      latch.open();
      await ended;
      replica.access.find = find;
      return found;
    };
    expect((await replica.sendAndWait(alice, 'replayed')).state.status).toBe('completed');
    follower.close();
    watching.unsubscribe();
  });
});
