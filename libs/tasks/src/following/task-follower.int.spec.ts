import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { filter, firstValueFrom } from 'rxjs';
import { Acta, type Replica } from '../../../../test/support/acta.js';
import { Latch, ScriptedAgent } from '../../../../test/support/scripted-agent.js';
import { aMember, aMessage } from '../../../../test/support/tasks.js';

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

it('goes on when another replica writes in between, and shows what both wrote', async () => {
  const gate = new Latch();
  agent.on('between', async (ctx) => {
    await ctx.working('begun');
    await gate.opened;
    await ctx.artifact({ parts: [{ text: 'result' }] });
  });
  const { taskId, follower } = await first.send(alice, 'between');
  const outcome = follower.untilOutcome();
  await first.until(alice.tenantId, taskId, (state) => state.statusMessage !== null);
  await second.submit(alice, aMessage('from elsewhere'), { taskId });
  // The first replica has heard of it, and of its own run next.
  await first.until(alice.tenantId, taskId, (state) => state.clientMessages.count === 2);
  while (follower.current.clientMessages.count < 2) await new Promise(setImmediate);
  gate.open();
  expect((await outcome).status).toBe('completed');
  const view = (await follower.view())!;
  expect(view.history.map(({ parts }) => parts[0]!.text)).toEqual(['between', 'begun', 'from elsewhere']);
  expect(view).toEqual(await second.get(alice, taskId));
});

it('waits on a replica that runs nothing for the outcome elsewhere', async () => {
  agent.on('elsewhere', (ctx) => ctx.complete('here'));
  const view = await second.ask(alice, 'elsewhere');
  expect(view.statusMessage?.parts).toEqual([{ text: 'here' }]);
  expect(view).toEqual(await first.get(alice, view.taskId));
});

it('hears of an end that falls between reading a task for a replay and following it', async () => {
  const gate = new Latch();
  agent.on('replayed', async (ctx) => {
    await gate.opened;
    await ctx.complete();
  });
  const { taskId, follower } = await first.send(alice, 'replayed');
  const replica = await acta.replica({ agents: [agent.definition], concurrency: 0 });
  // Someone else who watches the task keeps its versions from being announced anew.
  const watching = replica.wakeups.changes(alice.tenantId, taskId).subscribe();
  const head = replica.log.head.bind(replica.log);
  replica.log.head = async (...args) => {
    const loaded = await head(...args);
    const { version } = loaded!.head.state;
    const ended = replica.wakeups.changes(alice.tenantId, taskId).pipe(filter((change) => change.version > version));
    const heard = firstValueFrom(ended);
    gate.open();
    await heard;
    replica.log.head = head;
    return loaded;
  };
  expect((await replica.ask(alice, 'replayed')).state.status).toBe('completed');
  follower.close();
  watching.unsubscribe();
});
