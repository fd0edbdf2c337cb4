import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BOUNDS, type Message, type Principal } from '@app/domain';
import { Acta, type Replica } from '../../../../test/support/acta.js';
import { anAgent } from '../../../../test/support/replica-agents.js';
import { kindOf } from '../../../../test/support/domain-errors.js';
import { aMember, aMessage } from '../../../../test/support/tasks.js';

const alice = aMember('alice', { rings: ['ring:dev', 'ring:ops'] });
const bob = aMember('bob');

const echo = anAgent(async (ctx) => {
  if (ctx.text === 'ask') return ctx.requireInput('what?');
  await ctx.artifact({ parts: [{ text: ctx.text.toUpperCase() }] });
});

let acta: Acta;
let first: Replica;
let second: Replica;
beforeAll(async () => {
  acta = await Acta.open();
  [first, second] = await Promise.all([acta.replica({ agents: [echo] }), acta.replica({ agents: [echo] })]);
});
afterAll(() => acta?.close());

const typesOf = async (principal: Principal, taskId: string) =>
  (await first.events(principal.tenantId, taskId)).map((event) => event.type);
const taskCount = async () => (await acta.sql<{ n: number }>('select count(*)::integer as n from task'))[0]!.n;

describe('SendMessage', () => {
  it('creates a task with its run and artifact, which any replica shows', async () => {
    const view = await first.sendAndWait(alice, 'one');
    expect(view.state.status).toBe('completed');
    expect(view.artifacts).toEqual([{ artifactId: 'artifact', parts: [{ text: 'ONE' }] }]);
    expect(await second.get(alice, view.taskId)).toEqual(view);
  });

  // F1
  it('returns the same task without a second run when the message is sent again, on any replica', async () => {
    const view = await first.sendAndWait(alice, 'again');
    const replays = await Promise.all([first.sendAndWait(alice, 'again'), second.sendAndWait(alice, 'again')]);
    expect(replays).toEqual([view, view]);
    const types = await typesOf(alice, view.taskId);
    expect(types.filter((type) => type === 'RunStarted')).toHaveLength(1);
  });

  // F2
  it('creates one task with one run when the message reaches two replicas concurrently, in 40 rounds', async () => {
    for (let round = 0; round < 40; round += 1) {
      const text = `both ${round}`;
      const before = await taskCount();
      const [one, other] = await Promise.all([first.sendAndWait(alice, text), second.sendAndWait(alice, text)]);
      expect(other).toEqual(one);
      expect(await taskCount()).toBe(before + 1);
      const types = await typesOf(alice, one.taskId);
      expect(types.filter((type) => type === 'RunStarted')).toHaveLength(1);
    }
  });

  // F2, for a message to an existing task
  it('records a message to a task once when it reaches two replicas concurrently, in 20 rounds', async () => {
    for (let round = 0; round < 20; round += 1) {
      const asked = await first.sendAndWait(alice, aMessage('ask', `ask ${round}`));
      const reply = aMessage('answer', `reply ${round}`);
      const request = { taskId: asked.taskId };
      const views = await Promise.all([
        first.sendAndWait(alice, reply, request),
        second.sendAndWait(alice, reply, request),
      ]);
      expect(views[1]).toEqual(views[0]);
      const types = await typesOf(alice, asked.taskId);
      expect(types.filter((type) => type === 'MessageAccepted')).toHaveLength(2);
      expect(types.filter((type) => type === 'RunStarted')).toHaveLength(2);
    }
  });

  // F3
  it('creates a separate task for the same message id of a different caller or tenant', async () => {
    const message = aMessage('mine', 'shared id');
    const views = await Promise.all([
      first.sendAndWait(alice, message),
      second.sendAndWait(bob, message),
      first.sendAndWait(aMember('alice', { tenantId: 'other' }), message),
    ]);
    expect(new Set(views.map((view) => view.taskId)).size).toBe(3);
    expect(new Set(views.map((view) => view.state.contextId)).size).toBe(3);
    expect(await kindOf(second.get(bob, views[0]!.taskId))).toBe('TaskNotFound');
    expect(await kindOf(second.get(alice, views[2]!.taskId))).toBe('TaskNotFound');
  });

  // F4
  it('rejects a recorded message id with different content and does not change its task', async () => {
    const parts = [{ text: 'a' }, { text: 'b' }];
    const message: Message = { messageId: 'f4', role: 'user', parts };
    const view = await first.sendAndWait(alice, message);
    const others: Partial<Message>[] = [
      { parts: [{ text: 'other' }] },
      { parts: [parts[1]!, parts[0]!] },
      { metadata: { ring: 'ring:ops' } },
      { metadata: { note: 'x' } },
    ];
    for (const other of others) {
      expect(await kindOf(second.send(alice, { ...message, ...other }))).toBe('InvalidParameters');
    }
    expect(await kindOf(second.send(alice, message, { contextId: 'another' }))).toBe('InvalidParameters');
    expect(await first.get(alice, view.taskId)).toEqual(view);
    // The order of object keys has no meaning (RFC 8785), so this is the same message.
    const shuffled: Message = { parts: [{ text: 'a' }, { text: 'b' }], role: 'user', messageId: 'f4' };
    expect((await first.sendAndWait(alice, shuffled)).taskId).toBe(view.taskId);
  });

  // F7
  it('rejects a message to a missing task and to a task of a different caller in the same way, and stores nothing', async () => {
    const { taskId } = await first.sendAndWait(bob, 'of bob');
    const before = await taskCount();
    expect(await kindOf(first.send(alice, 'x7', { taskId: 'no-such-task' }))).toBe('TaskNotFound');
    expect(await kindOf(first.send(alice, 'x7', { taskId }))).toBe('TaskNotFound');
    expect(await taskCount()).toBe(before);
  });

  // F7
  it('rejects a context that is not the context of the task, and a context in a different ring', async () => {
    const asked = await first.sendAndWait(alice, aMessage('ask', 'f7'));
    const wrong = { taskId: asked.taskId, contextId: 'not this one' };
    expect(await kindOf(first.send(alice, 'x', wrong))).toBe('InvalidParameters');
    const inOps: Message = { ...aMessage('ops'), metadata: { ring: 'ring:ops' } };
    const { contextId } = asked.state;
    expect(await kindOf(first.send(alice, inOps, { contextId }))).toBe('InvalidParameters');
    expect(await kindOf(first.send(alice, inOps, { taskId: asked.taskId }))).toBe('InvalidParameters');
    const own = await first.sendAndWait(bob, 'the same context id', { contextId });
    expect(own.state.contextId).toBe(contextId);
  });

  it('rejects a ring that the caller does not have, and a message that requests two rings', async () => {
    const named = (metadata: string, data: string): Message => ({
      messageId: `${metadata} ${data}`,
      role: 'user',
      parts: [{ data: { ring: data } }],
      metadata: { ring: metadata },
    });
    expect(await kindOf(first.send(alice, named('ring:ops', 'ring:dev')))).toBe('InvalidParameters');
    expect(await kindOf(first.send(alice, named('ring:x', 'ring:x')))).toBe('InvalidParameters');
    expect((await first.sendAndWait(alice, named('ring:ops', 'ring:ops'))).state.ring).toBe('ring:ops');
    expect((await first.sendAndWait(alice, 'no ring named')).state.ring).toBe('ring:dev');
  });

  it('rejects a new message to an ended task but returns the task for an exact replay', async () => {
    const view = await first.sendAndWait(alice, 'ends');
    expect(await kindOf(first.send(alice, 'more', { taskId: view.taskId }))).toBe('TaskEnded');
    const asked = await first.sendAndWait(alice, aMessage('ask', 'ends later'));
    const reply = aMessage('the answer');
    const ended = await first.sendAndWait(alice, reply, { taskId: asked.taskId });
    expect(await second.sendAndWait(alice, reply, { taskId: asked.taskId })).toEqual(ended);
  });

  it('rejects a reference to a task that the caller cannot access', async () => {
    const { taskId } = await first.sendAndWait(bob, 'seen by bob alone');
    const refers: Message = { ...aMessage('refers'), referenceTaskIds: [taskId] };
    expect(await kindOf(first.send(alice, refers))).toBe('InvalidParameters');
    expect((await first.sendAndWait(bob, refers)).state.status).toBe('completed');
  });
});

describe('The history of a task', () => {
  it('accepts 100 client messages, then rejects a new one and still returns the task for an exact replay', async () => {
    const asked = await first.sendAndWait(alice, aMessage('ask', 'fill'));
    const { taskId } = asked;
    for (let n = 2; n <= BOUNDS.clientMessages; n += 1) {
      await first.sendAndWait(alice, aMessage('ask', `fill ${n}`), { taskId });
    }
    expect(await kindOf(first.send(alice, aMessage('ask', 'one too many'), { taskId }))).toBe('InvalidParameters');
    const replay = await second.sendAndWait(alice, aMessage('ask', 'fill 50'), { taskId });
    expect(replay.state.clientMessages.count).toBe(BOUNDS.clientMessages);
    expect(await kindOf(first.send(alice, aMessage('other', 'fill 50'), { taskId }))).toBe('InvalidParameters');
  });
});

describe('A client that disconnects', () => {
  // F6
  it('does not stop the run, which is recorded to its end', async () => {
    const { taskId, follower } = await first.send(alice, 'disconnects');
    const disconnect = new AbortController();
    const waiting = follower.untilOutcome(disconnect.signal);
    disconnect.abort(new Error('disconnected'));
    await expect(waiting).rejects.toThrow('disconnected');
    const state = await second.until(alice.tenantId, taskId, (s) => s.status === 'completed');
    expect((await second.get(alice, taskId)).artifacts).toHaveLength(1);
    expect(state.run?.outcome).toBe('completed');
  });
});
