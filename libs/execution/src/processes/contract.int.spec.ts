import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BOUNDS, type Message, type TaskView, textOf } from '@app/domain';
import { Acta, type Replica } from '../../../../test/support/acta.js';
import { aMember, aMessage, REQUEST } from '../../../../test/support/tasks.js';

const MODULE = fileURLToPath(new URL('../../../../test/support/agents/contract.agent.mjs', import.meta.url));
const alice = aMember('alice');

describe.each(['none', 'process'] as const)('The contract of agents, with the isolation %s', (isolation) => {
  let acta: Acta;
  let replica: Replica;
  beforeAll(async () => {
    acta = await Acta.open();
    replica = await acta.replica({ agentModules: { entries: [MODULE], agentIsolation: isolation } });
  });
  afterAll(() => acta?.close());

  const run = (text: string, changes: Partial<Message> = {}, agent = 'contract') =>
    replica.sendAndWait(alice, { ...aMessage(text), ...changes }, { agent });
  /** Sends a message to a task whose agent works. */
  const sendTo = (taskId: string, text: string, metadata = {}) =>
    replica.submit(alice, text, { taskId, request: { ...REQUEST, metadata } });
  const outcomeOf = ({ state, statusMessage }: TaskView) =>
    `${state.status}: ${statusMessage === undefined ? '-' : textOf(statusMessage)}`;
  const artifactsOf = ({ artifacts }: TaskView) => artifacts.map(({ parts }) => parts);
  const lastFacts = async ({ taskId }: TaskView) => (await replica.events(alice.tenantId, taskId)).at(-1)!.facts;
  const until = (taskId: string, status: string) =>
    replica.until(alice.tenantId, taskId, (state) => state.status === status);
  const working = (taskId: string) =>
    replica.until(alice.tenantId, taskId, ({ statusMessage }) => statusMessage !== null);
  let reports = 0;
  /** Returns what ended runs have noted, once the named note is among it. */
  const notes = async (name: string): Promise<Record<string, unknown>> => {
    const { statusMessage } = await run(`report ${(reports += 1)}`);
    const all = statusMessage!.parts[0]!.data as Record<string, unknown>;
    return name in all ? all : notes(name);
  };

  it('gives the agent the task, the messages, their requests and the lease', async () => {
    const asked = await run('facts', { metadata: { own: true } });
    expect(asked.statusMessage!.parts[0]!.data).toMatchObject({
      task: { tenant: 'acme', id: asked.taskId, contextId: asked.state.contextId, ring: 'ring:dev', owner: 'alice' },
      text: 'facts',
      message: { role: 'user', parts: [{ text: 'facts' }] },
      history: [],
      metadata: { own: true },
      request: { metadata: {}, configuration: { returnImmediately: false }, extensions: [] },
      requests: [{}],
      attempt: 1,
      generations: { leaseGeneration: 1, dispatcherGeneration: 1 },
      named: { runId: 'string', worker: 'string' },
      upstream: null,
      aborted: false,
      reason: null,
    });
  });

  it.each([
    ['ask', 'input-required: what?'],
    ['authorize', 'auth-required: who?'],
    ['fail', 'failed: no paper'],
    ['reject', 'rejected: not supported'],
    ['reply', 'replied: just words'],
    ['nothing', 'completed: -'],
    ['throws', 'failed: out of ink'],
    ['throws-text', 'failed: a text'],
    ['throws-nothing', 'failed: the agent failed without an error message'],
    ['busy', 'completed: attempt 3'],
    ['awaits-nothing', 'completed: the end'],
    ['no-parts-caught', 'completed: InvalidAgentResponse: invalid agent response: artifact "artifact" has no parts'],
    ['circular', expect.stringMatching(/^completed: TypeError: Converting circular structure to JSON/)],
    ['big-integer', 'failed: Do not know how to serialize a BigInt'],
  ])('records the same outcome of "%s"', async (text, outcome) => {
    expect(outcomeOf(await run(text))).toEqual(outcome);
  });

  it.each([
    ['requireInput', 'requireInput() needs a message'],
    ['requireAuth', 'requireAuth() needs a message'],
    ['fail', 'fail() needs a message'],
    ['reject', 'reject() needs a message'],
    ['reply', 'reply() needs a message'],
    ['working null', 'working() needs a message'],
    ['complete 5', 'complete() needs a message'],
    ['cancel {}', 'cancel() needs a message'],
    ['reply {"parts":"text"}', 'the message of reply() has no parts'],
    ['requireInput []', 'the message of requireInput() has no parts'],
    ['artifact', 'artifact() needs an object with parts'],
    ['artifact "text"', 'artifact() needs an object with parts'],
    ['attach', 'attach() needs an object with taskId, contextId and messageId'],
  ])('fails the task with a sentence that names the method if the agent calls %s', async (call, problem) => {
    const view = await run(`calls ${call}`);
    expect(outcomeOf(view)).toContain(`failed: invalid agent response: ${problem}`);
    expect(await lastFacts(view)).toMatchObject({ reason: 'invalid-agent-response' });
  });

  it.each(['no-parts', 'bad-id'])('fails the task as an invalid response of the agent for "%s"', async (text) => {
    const view = await run(text);
    expect(view.state.status).toBe('failed');
    expect(await lastFacts(view)).toMatchObject({ reason: 'invalid-agent-response' });
  });

  it('rejects outputs after the outcome, and aborts the signal when the run has ended', async () => {
    expect(outcomeOf(await run('continues'))).toBe('completed: the end');
    const error = 'Error: the run already has an outcome and cannot write more output';
    expect(await notes('ended')).toMatchObject({ working: error, fail: error, ended: 'the run has ended' });
  });

  it('appends to an artifact, or replaces it', async () => {
    const view = await run('artifacts');
    expect(artifactsOf(view)).toEqual([[{ text: 'one two' }], [{ data: [1] }]]);
  });

  it('records output of any size completely and in order, whether or not the agent awaits it', async () => {
    const view = await run('flood');
    const text = 'x'.repeat(1_500_000) + 'y'.repeat(400_000);
    const events = await replica.events(alice.tenantId, view.taskId);
    const recorded = events.map(({ content }) => content?.artifact?.parts.map((part) => part.text).join('') ?? '');
    expect(recorded.join('') === text).toBe(true);
  });

  it('gives the agent a history that is larger than what may be unacknowledged', async () => {
    const { taskId } = await run('ask large');
    let size = 0;
    for (const letter of ['a', 'b', 'c']) {
      const filler = `${letter}`.repeat(BOUNDS.clientHistoryBytes / 16);
      size += filler.length;
      await replica.sendAndWait(alice, aMessage(filler, `filler ${letter}`), { taskId });
    }
    const facts = await replica.sendAndWait(alice, 'facts large', { taskId });
    expect(facts.history.map(textOf).join('').length).toBeGreaterThan(size);
    expect(outcomeOf(facts)).toBe('input-required: what?');
  });

  it('yields the messages that come during the run, with their requests', async () => {
    const taskId = await replica.submit(alice, aMessage('listens'));
    await working(taskId);
    await sendTo(taskId, 'one', { mood: 'calm' });
    await sendTo(taskId, 'two', { mood: 'glad' });
    const { statusMessage } = await until(taskId, 'input-required');
    expect(statusMessage).not.toBeNull();
    const view = await replica.get(alice, taskId);
    expect(outcomeOf(view)).toBe('input-required: one calm, two glad');
  });

  it('starts the next turn with a message that the agent has not read', async () => {
    const taskId = await replica.submit(alice, aMessage('asks-late'));
    await working(taskId);
    await sendTo(taskId, 'unread');
    await until(taskId, 'completed');
    expect(outcomeOf(await replica.get(alice, taskId))).toBe('completed: next turn: unread');
  });

  it('aborts the signal with CancelRequested when the task is canceled', async () => {
    const taskId = await replica.submit(alice, aMessage('cancels'));
    await working(taskId);
    const view = await replica.cancel(alice, taskId);
    expect(outcomeOf(view)).toBe('canceled: CancelRequested: the task is being canceled');
  });

  it('aborts the signal of a run that has lost its lease, and records nothing of it', async () => {
    const taskId = await replica.submit(alice, aMessage('fenced'));
    await working(taskId);
    await acta.expireLease(taskId);
    await replica.reaper.sweep();
    await until(taskId, 'completed');
    expect(outcomeOf(await replica.get(alice, taskId))).toBe('completed: by the next run');
    const fenced = expect.stringMatching(/^Fenced: /);
    expect(await notes('fencedMessages')).toMatchObject({
      fencedReason: fenced,
      fencedWrite: fenced,
      fencedMessages: 0,
    });
  });

  it('aborts the signal at the time limit of the agent, and counts the attempt', async () => {
    const view = await run('slow', {}, 'limited');
    const cause = 'the run exceeded its time limit of 0.2 s';
    expect(outcomeOf(view)).toBe(`failed: the only attempt was lost: ${cause}`);
    const lost = (await replica.events(alice.tenantId, view.taskId)).find(({ type }) => type === 'RunLost');
    expect(lost!.facts).toMatchObject({ reason: 'timed-out', cause });
    const { statusMessage } = await run('report limited', {}, 'limited');
    expect(statusMessage!.parts[0]!.data).toMatchObject({ slow: `RunTimeout: ${cause}` });
  });

  it('calls the agent when a task with an upstream task is canceled between its turns', async () => {
    const view = await run('attaches');
    expect(view.state.upstream).toEqual({ taskId: 'u-1', contextId: 'c-1', messageId: 'm-1' });
    await replica.cancel(alice, view.taskId);
    expect(await notes('onCanceled')).toMatchObject({ onCanceled: 'u-1' });
  });
});
