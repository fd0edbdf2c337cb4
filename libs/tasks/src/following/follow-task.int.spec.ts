import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { RecordedEvent } from '@app/domain';
import { Acta, type Replica } from '../../../../test/support/acta.js';
import { Latch, ScriptedAgent } from '../../../../test/support/scripted-agent.js';
import { aMember, aMessage } from '../../../../test/support/tasks.js';
import type { TaskReader } from '../queries/task-reader.js';
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

/** Follows until the task has ended; each event as often as it came. */
async function follow(
  from: Pick<Replica, 'wakeups'> & { reader: Pick<TaskReader, 'events'> },
  taskId: string,
  after: number,
  each: () => Promise<void> | void = () => undefined,
): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  const stop = new AbortController();
  for await (const some of followTask(from, { tenantId: alice.tenantId, taskId, after }, stop.signal)) {
    events.push(...some);
    await each();
    if (some.at(-1)!.type === 'TaskCompleted') stop.abort();
  }
  return events;
}

const versions = (events: readonly RecordedEvent[]) => events.map((event) => event.version);
const upTo = (last: number, after = 0) => Array.from({ length: last - after }, (_, at) => after + at + 1);

describe('following a task', () => {
  // [A2A-STREAM-3]
  it('gives every event once and in order, on the replica that works and on others, to the slow too', async () => {
    const gate = new Latch();
    agent.on('many', async (ctx) => {
      await gate.opened;
      for (let n = 0; n < 300; n += 1) await ctx.working(`step ${n}`);
    });
    const taskId = await first.submit(alice, 'many');
    const followed = Promise.all([
      follow(first, taskId, 0),
      follow(second, taskId, 0),
      follow(first, taskId, 2),
      follow(first, taskId, 0, () => new Promise((resolve) => setTimeout(resolve, 20))),
    ]);
    gate.open();
    const [here, there, later, slow] = await followed;
    const last = here.at(-1)!.version;
    expect(last).toBeGreaterThan(300);
    expect(versions(here)).toEqual(upTo(last));
    expect(versions(there)).toEqual(upTo(last));
    expect(versions(later)).toEqual(upTo(last, 2));
    expect(versions(slow)).toEqual(upTo(last));
    expect(there).toEqual(here);
  });

  // F8
  it('misses nothing that happens during its first read', async () => {
    const gate = new Latch();
    agent.on('during the read', async (ctx) => {
      await gate.opened;
      await ctx.complete();
    });
    const taskId = await first.submit(alice, 'during the read');
    // A read that has its snapshot before the task ends, and comes back after.
    const reader = {
      events: async (tenantId: string, id: string, after: number, limit: number) => {
        const events = await first.log.read(tenantId, id, after, limit);
        gate.open();
        await first.until(tenantId, id, (state) => state.status === 'completed');
        return events;
      },
    };
    const events = await follow({ reader, wakeups: first.wakeups }, taskId, 0);
    expect(versions(events)).toEqual(upTo(events.at(-1)!.version));
  });

  it('ends when its signal does, also while it waits', async () => {
    agent.on('asks', (ctx) => ctx.requireInput('what?'));
    const { taskId, state } = await first.ask(alice, aMessage('asks'));
    const stop = new AbortController();
    const following = followTask(first, { tenantId: alice.tenantId, taskId, after: state.version }, stop.signal).next();
    setImmediate(() => stop.abort());
    expect(await following).toEqual({ done: true, value: undefined });
  });
});
