import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { textOf, type TaskView } from '@app/domain';
import { Acta, type Replica } from '../../../../test/support/acta.js';
import { Latch, ScriptedAgent } from '../../../../test/support/scripted-agent.js';
import { aMember, aMessage } from '../../../../test/support/tasks.js';

const alice = aMember('alice');
const agent = new ScriptedAgent();
let acta: Acta;
let first: Replica;
/** A replica that executes no runs. */
let api: Replica;
beforeAll(async () => {
  acta = await Acta.open();
  first = await acta.replica({ agents: [agent.definition] });
  api = await acta.replica({ agents: [agent.definition], concurrency: 0 });
});
afterAll(() => acta?.close());

const eventsOf = (taskId: string) => first.events(alice.tenantId, taskId);
const typesOf = async (taskId: string) => (await eventsOf(taskId)).map((event) => event.type);
const textsOf = (view: TaskView) => view.history.map(textOf);
const statusAfter = async (text: string) => (await first.sendAndWait(alice, text)).state.status;

describe('The outcome of a run', () => {
  it('is the one that the agent sets, or completion if the agent sets none', async () => {
    agent.on('completes', (ctx) => ctx.complete('done'));
    agent.on('fails', (ctx) => ctx.fail('no paper'));
    agent.on('rejects', (ctx) => ctx.reject('not supported'));
    agent.on('wants authorization', (ctx) => ctx.requireAuth('who are you?'));
    expect(await statusAfter('sets no outcome')).toBe('completed');
    expect(await statusAfter('completes')).toBe('completed');
    expect(await statusAfter('fails')).toBe('failed');
    expect(await statusAfter('rejects')).toBe('rejected');
    expect(await statusAfter('wants authorization')).toBe('auth-required');
  });

  it("is failure with the error's message if the agent throws", async () => {
    agent.on('throws', () => {
      throw new Error('out of ink');
    });
    const view = await first.sendAndWait(alice, 'throws');
    expect(view.state.status).toBe('failed');
    expect(textOf(view.statusMessage!)).toBe('out of ink');
  });

  it('does not change if the agent continues after it', async () => {
    agent.on('continues', async (ctx) => {
      await ctx.complete('the end');
      await expect(ctx.working('not yet')).rejects.toThrow(/outcome/);
      await expect(ctx.fail('too late')).rejects.toThrow(/outcome/);
      throw new Error('one more thing');
    });
    const view = await first.sendAndWait(alice, 'continues');
    expect(view.state.status).toBe('completed');
    expect(await typesOf(view.taskId)).toEqual(['TaskSubmitted', 'MessageAccepted', 'RunStarted', 'TaskCompleted']);
  });

  it('is recorded, without an unhandled rejection, if the agent awaits none of its outputs', async () => {
    agent.on('does not wait', async (ctx) => {
      void ctx.complete('the end');
      void ctx.working('not yet');
      void ctx.artifact({ parts: [{ data: 1n as never }] });
      await new Promise((resolve) => setImmediate(resolve));
    });
    expect(await statusAfter('does not wait')).toBe('completed');
  });

  it('is failure as an invalid agent response if the agent violates the contract', async () => {
    agent.on('no parts', (ctx) => ctx.artifact({ parts: [] }));
    agent.on('bad artifact id', async (ctx) => {
      await ctx.artifact({ id: 'nul \0', parts: [{ text: 'x' }] });
      await ctx.complete();
    });
    for (const text of ['no parts', 'bad artifact id']) {
      const { taskId, state } = await first.sendAndWait(alice, text);
      expect(state.status).toBe('failed');
      expect((await eventsOf(taskId)).at(-1)).toMatchObject({ facts: { reason: 'invalid-agent-response' } });
    }
  });

  it('is failure as an invalid agent response even if the agent throws before the violation is found', async () => {
    agent.on('bad artifact id, then throws', (ctx) => {
      void ctx.artifact({ id: 'nul \0', parts: [{ text: 'x' }] });
      throw new Error('one more thing');
    });
    const { taskId, state } = await first.sendAndWait(alice, 'bad artifact id, then throws');
    expect(state.status).toBe('failed');
    expect((await eventsOf(taskId)).at(-1)).toMatchObject({ facts: { reason: 'invalid-agent-response' } });
  });

  it('is failure if an output has a value that JSON cannot represent', async () => {
    const circular: Record<string, unknown> = {};
    circular['itself'] = circular;
    agent.on('circular', (ctx) => ctx.artifact({ parts: [{ data: circular as never }] }));
    agent.on('a big integer', (ctx) => ctx.artifact({ parts: [{ data: 1n as never }] }));
    expect(await statusAfter('circular')).toBe('failed');
    expect(await statusAfter('a big integer')).toBe('failed');
  });

  it('is a retry under a new fence if the agent throws a retryable error', async () => {
    agent.on('retries', async (ctx) => {
      if (ctx.attempt < 3) throw Object.assign(new Error('busy'), { retryable: true });
      await ctx.complete(`attempt ${ctx.attempt}`);
    });
    const view = await first.sendAndWait(alice, 'retries');
    expect(textOf(view.statusMessage!)).toBe('attempt 3');
    expect(view.state).toMatchObject({ leaseGeneration: 3, dispatcherGeneration: 3 });
    expect((await typesOf(view.taskId)).filter((type) => type === 'RunLost')).toHaveLength(2);
  });
});

describe('A direct message response', () => {
  it('is a message without a task, also for an exact replay', async () => {
    agent.on('replies', (ctx) => ctx.reply('just words'));
    const views = [await first.sendAndWait(alice, 'replies'), await api.sendAndWait(alice, 'replies')];
    for (const { state, statusMessage } of views) {
      expect(state.status).toBe('replied');
      expect(textOf(statusMessage!)).toBe('just words');
    }
    expect(views[1]).toEqual(views[0]);
    await expect(first.get(alice, views[0]!.taskId)).rejects.toThrow('task not found');
    expect((await first.get(alice, views[0]!.taskId, { replied: true })).state.status).toBe('replied');
    expect((await first.list(alice)).tasks.map((task) => task.taskId)).not.toContain(views[0]!.taskId);
  });

  it('completes the task after a status, after an artifact, or if the client already has the task', async () => {
    agent.on('status, then reply', async (ctx) => {
      await ctx.working();
      await ctx.reply('words');
    });
    agent.on('artifact, then reply', async (ctx) => {
      await ctx.artifact({ parts: [{ text: 'x' }] });
      await ctx.reply('words');
    });
    agent.on('acknowledged, then reply', (ctx) => ctx.reply('words'));
    for (const text of ['status, then reply', 'artifact, then reply']) {
      const view = await first.sendAndWait(alice, text);
      expect([view.state.status, textOf(view.statusMessage!)]).toEqual(['completed', 'words']);
    }
    const view = await first.sendAndWait(alice, 'acknowledged, then reply', { acknowledged: true });
    expect(view.state.status).toBe('completed');
  });
});

describe('A conversation', () => {
  it('continues in a second turn with all earlier messages', async () => {
    const turns: { text: string; history: string[]; attempt: number }[] = [];
    agent.on('order', async (ctx) => {
      turns.push({ text: ctx.text, history: ctx.history.map(textOf), attempt: ctx.attempt });
      if (turns.length === 1) return ctx.requireInput('which size?');
      await ctx.artifact({ parts: [{ text: 'done' }] });
    });
    const { taskId } = await first.sendAndWait(alice, 'order');
    const view = await api.sendAndWait(alice, aMessage('large'), { taskId });
    expect(turns).toEqual([
      { text: 'order', history: [], attempt: 1 },
      { text: 'large', history: ['order', 'which size?'], attempt: 1 },
    ]);
    expect(view.state).toMatchObject({ status: 'completed', dispatcherGeneration: 2, leaseGeneration: 2 });
    expect(textsOf(view)).toEqual(['order', 'which size?', 'large']);
  });

  // F5
  it('adds a message that arrives during a run to the history and passes it to that run, the only one', async () => {
    const received: string[] = [];
    agent.on('reads messages', async (ctx) => {
      for await (const message of ctx.messages()) {
        received.push(textOf(message));
        if (received.length === 2) break;
      }
      await ctx.complete();
    });
    const taskId = await first.submit(alice, 'reads messages');
    await first.until(alice.tenantId, taskId, (state) => state.run !== null);
    await first.submit(alice, aMessage('from this process'), { taskId });
    await first.until(alice.tenantId, taskId, (state) => state.clientMessages.count === 2);
    const view = await api.sendAndWait(alice, aMessage('from the other process'), { taskId });
    expect(received).toEqual(['from this process', 'from the other process']);
    expect(textsOf(view)).toEqual(['reads messages', 'from this process', 'from the other process']);
    expect((await typesOf(taskId)).filter((type) => type === 'RunStarted')).toHaveLength(1);
  });

  it('starts the next turn immediately for a message that the run has not read', async () => {
    const asking = new Latch();
    const turns: string[] = [];
    agent.on('reads no messages', async (ctx) => {
      turns.push(ctx.text);
      if (turns.length > 1) return ctx.complete();
      await asking.opened;
      await ctx.requireInput('what?');
    });
    const taskId = await first.submit(alice, 'reads no messages');
    await first.until(alice.tenantId, taskId, (state) => state.run !== null);
    await api.submit(alice, aMessage('unread'), { taskId });
    asking.open();
    await first.until(alice.tenantId, taskId, (state) => state.status === 'completed');
    expect(turns).toEqual(['reads no messages', 'unread']);
    expect(await typesOf(taskId)).toEqual([
      'TaskSubmitted',
      'MessageAccepted',
      'RunStarted',
      'MessageAccepted',
      'InputRequested',
      'RunStarted',
      'TaskCompleted',
    ]);
  });
});
