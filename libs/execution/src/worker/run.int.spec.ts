import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { textOf, type TaskView } from '@app/domain';
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

const eventsOf = (taskId: string) => first.events(alice.tenantId, taskId);
const typesOf = async (taskId: string) => (await eventsOf(taskId)).map((event) => event.type);
const saidIn = (view: TaskView) => view.history.map(textOf);
const outcome = async (text: string) => (await first.sendAndWait(alice, text)).state.status;

describe('the outcome of a run', () => {
  it('is what the agent says, or completion when it says nothing', async () => {
    agent.on('completes', (ctx) => ctx.complete('well'));
    agent.on('fails', (ctx) => ctx.fail('badly'));
    agent.on('rejects', (ctx) => ctx.reject('not mine'));
    agent.on('wants authorization', (ctx) => ctx.requireAuth('who are you?'));
    expect(await outcome('says nothing')).toBe('completed');
    expect(await outcome('completes')).toBe('completed');
    expect(await outcome('fails')).toBe('failed');
    expect(await outcome('rejects')).toBe('rejected');
    expect(await outcome('wants authorization')).toBe('auth-required');
  });

  it('is failure, in the error’s words, when the agent throws', async () => {
    agent.on('throws', () => {
      throw new Error('out of ink');
    });
    const view = await first.sendAndWait(alice, 'throws');
    expect(view.state.status).toBe('failed');
    expect(textOf(view.statusMessage!)).toBe('out of ink');
  });

  it('stands, whatever the agent does after it', async () => {
    agent.on('goes on', async (ctx) => {
      await ctx.complete('the end');
      await expect(ctx.working('not yet')).rejects.toThrow(/outcome/);
      await expect(ctx.fail('changed my mind')).rejects.toThrow(/outcome/);
      throw new Error('and another thing');
    });
    const view = await first.sendAndWait(alice, 'goes on');
    expect(view.state.status).toBe('completed');
    expect(await typesOf(view.taskId)).toEqual(['TaskSubmitted', 'MessageAccepted', 'RunStarted', 'TaskCompleted']);
  });

  it('stands, and the process with it, when the agent waits for nothing that it says', async () => {
    agent.on('does not wait', async (ctx) => {
      void ctx.complete('the end');
      void ctx.working('not yet');
      void ctx.artifact({ parts: [{ data: 1n as never }] });
      await new Promise((resolve) => setImmediate(resolve));
    });
    expect(await outcome('does not wait')).toBe('completed');
  });

  it('is failure as an invalid agent response when the agent breaks the contract', async () => {
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

  it('is failure as an invalid agent response, too, when the agent throws before that was noticed', async () => {
    agent.on('bad artifact id, then throws', (ctx) => {
      void ctx.artifact({ id: 'nul \0', parts: [{ text: 'x' }] });
      throw new Error('and another thing');
    });
    const { taskId, state } = await first.sendAndWait(alice, 'bad artifact id, then throws');
    expect(state.status).toBe('failed');
    expect((await eventsOf(taskId)).at(-1)).toMatchObject({ facts: { reason: 'invalid-agent-response' } });
  });

  it('is failure when the agent says what is no JSON', async () => {
    const circular: Record<string, unknown> = {};
    circular['itself'] = circular;
    agent.on('circular', (ctx) => ctx.artifact({ parts: [{ data: circular as never }] }));
    agent.on('a big integer', (ctx) => ctx.artifact({ parts: [{ data: 1n as never }] }));
    expect(await outcome('circular')).toBe('failed');
    expect(await outcome('a big integer')).toBe('failed');
  });

  it('is retried when the error says so, under a new fence', async () => {
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

describe('a bare reply', () => {
  // An exact replay gets it again.
  it('is the message, and no task', async () => {
    agent.on('replies', (ctx) => ctx.reply('just words'));
    const views = [await first.sendAndWait(alice, 'replies'), await second.sendAndWait(alice, 'replies')];
    for (const { state, statusMessage } of views) {
      expect(state.status).toBe('replied');
      expect(textOf(statusMessage!)).toBe('just words');
    }
    expect(views[1]).toEqual(views[0]);
    await expect(first.get(alice, views[0]!.taskId)).rejects.toThrow('task not found');
    expect((await first.get(alice, views[0]!.taskId, { replied: true })).state.status).toBe('replied');
    expect((await first.list(alice)).tasks.map((task) => task.taskId)).not.toContain(views[0]!.taskId);
  });

  it('is a completion after a status or an artifact, or when the client was answered', async () => {
    agent.on('status, then reply', async (ctx) => {
      await ctx.working();
      await ctx.reply('words');
    });
    agent.on('artifact, then reply', async (ctx) => {
      await ctx.artifact({ parts: [{ text: 'x' }] });
      await ctx.reply('words');
    });
    agent.on('answered, then reply', (ctx) => ctx.reply('words'));
    for (const text of ['status, then reply', 'artifact, then reply']) {
      const view = await first.sendAndWait(alice, text);
      expect([view.state.status, textOf(view.statusMessage!)]).toEqual(['completed', 'words']);
    }
    const view = await first.sendAndWait(alice, 'answered, then reply', { acknowledged: true });
    expect(view.state.status).toBe('completed');
  });
});

describe('a conversation', () => {
  it('goes on in a second turn, with everything that was said before', async () => {
    const turns: { text: string; history: string[]; attempt: number }[] = [];
    agent.on('order', async (ctx) => {
      turns.push({ text: ctx.text, history: ctx.history.map(textOf), attempt: ctx.attempt });
      if (turns.length === 1) return ctx.requireInput('which size?');
      await ctx.artifact({ parts: [{ text: 'done' }] });
    });
    const { taskId } = await first.sendAndWait(alice, 'order');
    const view = await second.sendAndWait(alice, aMessage('large'), { taskId });
    expect(turns).toEqual([
      { text: 'order', history: [], attempt: 1 },
      { text: 'large', history: ['order', 'which size?'], attempt: 1 },
    ]);
    expect(view.state).toMatchObject({ status: 'completed', dispatcherGeneration: 2, leaseGeneration: 2 });
    expect(saidIn(view)).toEqual(['order', 'which size?', 'large']);
  });

  // F5
  it('takes a message during a run into the history and to the run, which stays the only one', async () => {
    const heard: string[] = [];
    const enough = new Latch();
    agent.on('listens', async (ctx) => {
      for await (const message of ctx.messages()) {
        heard.push(textOf(message));
        if (heard.length === 2) break;
      }
      enough.open();
      await ctx.complete();
    });
    const taskId = await first.submit(alice, 'listens');
    await first.until(alice.tenantId, taskId, (state) => state.run !== null);
    await first.submit(alice, aMessage('from here'), { taskId });
    await first.until(alice.tenantId, taskId, (state) => state.clientMessages.count === 2);
    const view = await second.sendAndWait(alice, aMessage('from elsewhere'), { taskId });
    expect(heard).toEqual(['from here', 'from elsewhere']);
    expect(saidIn(view)).toEqual(['listens', 'from here', 'from elsewhere']);
    expect((await typesOf(taskId)).filter((type) => type === 'RunStarted')).toHaveLength(1);
  });

  it('starts the next turn at once for a message that the run never read', async () => {
    const asking = new Latch();
    const turns: string[] = [];
    agent.on('does not listen', async (ctx) => {
      turns.push(ctx.text);
      if (turns.length > 1) return ctx.complete();
      await asking.opened;
      await ctx.requireInput('what?');
    });
    const taskId = await first.submit(alice, 'does not listen');
    await first.until(alice.tenantId, taskId, (state) => state.run !== null);
    await second.submit(alice, aMessage('unread'), { taskId });
    asking.open();
    await first.until(alice.tenantId, taskId, (state) => state.status === 'completed');
    expect(turns).toEqual(['does not listen', 'unread']);
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
