import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Acta, type Replica } from '../../../../test/support/acta.js';
import { Latch, ScriptedAgent } from '../../../../test/support/scripted-agent.js';
import { aMember } from '../../../../test/support/tasks.js';

const alice = aMember('alice');
const agent = new ScriptedAgent();
let acta: Acta;
let replica: Replica;
beforeEach(async () => {
  acta = await Acta.open();
  replica = await acta.replica({ agents: [agent.definition] });
});
afterEach(() => acta?.close());

const until = (taskId: string, status: string) => replica.until(alice.tenantId, taskId, (s) => s.status === status);
const typesOf = async (taskId: string) => (await replica.events(alice.tenantId, taskId)).map(({ type }) => type);

/** Submits a task that requires an authorization. `turns` receives the messages that the agent gets in each turn. */
async function submitPayment(
  resumed: Promise<void> = Promise.resolve(),
): Promise<{ taskId: string; turns: string[][] }> {
  const turns: string[][] = [];
  agent.on('pay', async (ctx) => {
    turns.push([...ctx.history, ctx.message].map(({ parts }) => parts[0]!.text!));
    if (turns.length === 1) return ctx.requireAuth('Sign in at the bank.');
    await resumed;
  });
  const taskId = await replica.submit(alice, 'pay');
  await until(taskId, 'auth-required');
  return { taskId, turns };
}

describe('ResumeTask', () => {
  it('continues the task with its whole history, on any replica', async () => {
    const { taskId, turns } = await submitPayment();
    await replica.close();
    const other = await acta.replica({ agents: [agent.definition] });
    expect(['submitted', 'working', 'completed']).toContain((await other.resume(alice, taskId)).state.status);
    await other.until(alice.tenantId, taskId, (state) => state.status === 'completed');
    expect(turns).toEqual([['pay'], ['Sign in at the bank.', 'pay']]);
    const events = await other.events(alice.tenantId, taskId);
    expect(events.slice(3)).toMatchObject([
      { type: 'AuthorizationRequested' },
      { type: 'TaskResumed', facts: { dispatcherGeneration: 2 } },
      { type: 'RunStarted', facts: { attempt: 1, leaseGeneration: 2, dispatcherGeneration: 2 } },
      { type: 'TaskCompleted' },
    ]);
  });

  it('resumes the task once when it is called repeatedly and concurrently', async () => {
    const latch = new Latch();
    const { taskId } = await submitPayment(latch.opened);
    await Promise.all([1, 2, 3, 4].map(() => replica.resume(alice, taskId)));
    expect((await replica.resume(alice, taskId)).state.status).toMatch(/submitted|working/);
    latch.open();
    await until(taskId, 'completed');
    // A caller that lost the response repeats the call after the task has ended.
    expect((await replica.resume(alice, taskId)).state.status).toBe('completed');
    expect((await typesOf(taskId)).filter((type) => type === 'TaskResumed')).toHaveLength(1);
  });

  it('rejects a task that requires input, which needs a message', async () => {
    agent.on('ask', (ctx) => ctx.requireInput('which?'));
    const taskId = await replica.submit(alice, 'ask');
    await until(taskId, 'input-required');
    const before = await typesOf(taskId);
    await expect(replica.resume(alice, taskId)).rejects.toMatchObject({ kind: 'InvalidParameters' });
    expect(await typesOf(taskId)).toEqual(before);
  });

  it('rejects a task that has ended', async () => {
    const taskId = await replica.submit(alice, 'done');
    await until(taskId, 'completed');
    await expect(replica.resume(alice, taskId)).rejects.toMatchObject({ kind: 'TaskEnded' });
  });

  it.each([
    ['a caller who is not the owner', aMember('bob')],
    ['an owner without the ring', aMember('alice', { rings: ['ring:ops'] })],
    ['a caller of a different tenant', aMember('alice', { tenantId: 'umbrella' })],
  ])('rejects %s in the same way as a missing task', async (_caller, stranger) => {
    const { taskId } = await submitPayment();
    await expect(replica.resume(stranger, taskId)).rejects.toMatchObject({ kind: 'TaskNotFound' });
    await expect(replica.resume(stranger, 'missing')).rejects.toMatchObject({ kind: 'TaskNotFound' });
    expect((await replica.get(alice, taskId)).state.status).toBe('auth-required');
  });
});
