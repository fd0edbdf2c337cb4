import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Principal } from '@app/domain';
import { Acta, anAgent, type Replica } from '../../../../test/support/acta.js';
import { aMember, aMessage, aWorker } from '../../../../test/support/tasks.js';
import type { RemoteOutput, RemoteRun } from './worker-run.js';

const alice = aMember('alice');
const worker = aWorker('worker');
const remote = anAgent(undefined);
let acta: Acta;
let replica: Replica;
beforeEach(async () => {
  acta = await Acta.open();
  replica = await acta.replica({ agents: [remote, { ...remote, name: 'other' }] });
});
afterEach(() => acta?.close());

const here = new AbortController().signal;
const claim = (who: Principal = worker, wanted: Parameters<Replica['remote']['claim']>[1] = {}) =>
  replica.remote.claim(who, wanted, here);
async function claimed(text: string): Promise<RemoteRun> {
  await replica.submit(alice, text);
  return (await claim())[0]!;
}
const fenceOf = ({ leaseGeneration, dispatcherGeneration }: RemoteRun) => ({ leaseGeneration, dispatcherGeneration });
const publish = (run: RemoteRun, seq: number, ...outputs: RemoteOutput[]) =>
  replica.remote.publish(worker, run.runId, { ...fenceOf(run), seq }, outputs);
const finish = (run: RemoteRun, seq: number, type: Parameters<Replica['remote']['finish']>[3]['type'], text?: string) =>
  replica.remote.finish(
    worker,
    run.runId,
    { ...fenceOf(run), seq },
    { type, ...(text ? { message: said(text) } : {}) },
  );
const said = (text: string) => ({ parts: [{ text }] });
const chunk = (text: string, append = false): RemoteOutput => ({
  type: 'artifact',
  artifactId: 'out',
  append,
  last: false,
  artifact: said(text),
});
const typesOf = async (taskId: string) => (await replica.events(alice.tenantId, taskId)).map(({ type }) => type);
const expire = (taskId: string) =>
  acta.sql(`update run_queue set lease_expires_at = now() - interval '1 second' where task_id = $1`, [taskId]);
const STARTED = ['TaskSubmitted', 'MessageAccepted', 'RunStarted'];

describe('an agent that has no code here', () => {
  it('is run by remote workers alone, and its record has who ran it', async () => {
    const taskId = await replica.submit(alice, 'remote');
    const [run] = await claim();
    expect(run).toMatchObject({ taskId, ring: 'ring:dev', agent: 'tester', attempt: 1, message: aMessage('remote') });
    expect(await publish(run!, 1, { type: 'working' }, chunk('a'))).toMatchObject({
      status: 'working',
      leaseMs: 30_000,
    });
    await publish(run!, 2, chunk('b', true));
    expect(await finish(run!, 3, 'complete')).toMatchObject({ status: 'completed', leaseMs: 0 });
    const view = await replica.get(alice, taskId);
    expect(view.artifacts).toEqual([{ artifactId: 'out', parts: [{ text: 'ab' }] }]);
    const started = (await replica.events(alice.tenantId, taskId))[2];
    expect(started).toMatchObject({ type: 'RunStarted', facts: { worker: 'remote:worker', leaseGeneration: 1 } });
  });

  it.each([
    ['complete', 'completed'],
    ['fail', 'failed'],
    ['reject', 'rejected'],
    ['requireInput', 'input-required'],
    ['requireAuth', 'auth-required'],
    // Its client was answered already, so that the reply completes.
    ['reply', 'completed'],
    ['canceled', 'canceled'],
    ['retry', 'working'],
    ['release', 'working'],
  ] as const)('may %s, which makes the task %s', async (type, status) => {
    const run = await claimed(type);
    await finish(run, 1, type, 'so it is');
    const { state, statusMessage } = await replica.get(alice, run.taskId);
    expect(state.status).toBe(status);
    if (type !== 'retry' && type !== 'release') expect(statusMessage?.parts).toEqual([{ text: 'so it is' }]);
  });

  it('is told what was said before, in the next turn', async () => {
    const first = await claimed('first');
    await finish(first, 1, 'requireInput', 'which?');
    await replica.submit(alice, aMessage('second'), { taskId: first.taskId });
    const [second] = await claim();
    expect(second).toMatchObject({ taskId: first.taskId, leaseGeneration: 2, dispatcherGeneration: 2 });
    expect(second!.message).toEqual(aMessage('second'));
    expect(second!.history.map(({ parts }) => parts[0]!.text)).toEqual(['first', 'which?']);
  });

  it('goes on at once after a release, which uses no attempt, and later after a retry, which does', async () => {
    const run = await claimed('again');
    await finish(run, 1, 'release');
    const [again] = await claim();
    expect(again).toMatchObject({ attempt: 1, leaseGeneration: 2 });
    await finish(again!, 1, 'retry');
    const [third] = await claim(worker, { waitMs: 5_000 });
    expect(third).toMatchObject({ attempt: 2, leaseGeneration: 3 });
    const lost = (await replica.events(alice.tenantId, run.taskId)).filter(({ type }) => type === 'RunLost');
    expect(lost.map(({ facts }) => (facts as { reason: string }).reason)).toEqual(['released', 'retryable-error']);
  });
});

describe('a heartbeat', () => {
  it('renews the lease, and tells of a cancel and of new messages', async () => {
    const run = await claimed('beat');
    const leaseOf = async () =>
      (await acta.sql<{ at: Date }>('select lease_expires_at as at from run_queue'))[0]!.at.getTime();
    await acta.sql(`update run_queue set lease_expires_at = now() + interval '1 second'`);
    const before = await leaseOf();
    const beat = (readThrough?: number) =>
      replica.remote.heartbeat(worker, run.runId, {
        ...fenceOf(run),
        ...(readThrough === undefined ? {} : { readThrough }),
      });
    expect(await beat(run.version)).toMatchObject({ cancelRequested: false, messages: [], leaseMs: 30_000 });
    expect((await leaseOf()) - before).toBeGreaterThan(20_000);
    // More events than a page of the log lie between the message and what the worker has read.
    for (let seq = 1; seq <= 120; seq += 1) await publish(run, seq, chunk(`${seq} `, seq > 1));
    await replica.submit(alice, aMessage('and this'), { taskId: run.taskId });
    const { messages } = await beat(run.version);
    expect(messages.map(({ message }) => message)).toEqual([aMessage('and this')]);
    expect((await beat(messages[0]!.version)).messages).toEqual([]);
    expect((await beat()).messages).toEqual([]);
    const canceling = replica.cancel(alice, run.taskId);
    await replica.until(alice.tenantId, run.taskId, (state) => state.cancelDeadline !== null);
    expect(await beat()).toMatchObject({ cancelRequested: true });
    await finish(run, 121, 'canceled', 'stopped');
    expect((await canceling).state.status).toBe('canceled');
  });

  it('that comes after the lease is refused, though nobody has taken over yet', async () => {
    const run = await claimed('late');
    await expire(run.taskId);
    const late = replica.remote.heartbeat(worker, run.runId, fenceOf(run));
    await expect(late).rejects.toMatchObject({
      kind: 'Fenced',
      details: { leaseGeneration: 1, dispatcherGeneration: 1 },
    });
  });
});

describe('a repeated seq', () => {
  it('adds nothing', async () => {
    const run = await claimed('twice');
    await publish(run, 1, chunk('once'));
    expect(await publish(run, 1, chunk('once'))).toMatchObject({ status: 'working' });
    await publish(run, 5, chunk(' and on', true));
    await publish(run, 3, chunk(' late', true));
    await finish(run, 6, 'complete');
    expect((await replica.get(alice, run.taskId)).artifacts[0]!.parts).toEqual([{ text: 'once and on' }]);
  });

  it.each(['complete', 'fail', 'canceled', 'retry', 'release', 'requireInput'] as const)(
    'adds nothing when it ends the run with %s, also while the first is on its way',
    async (type) => {
      const run = await claimed(`ends with ${type}`);
      const [one, two] = await Promise.all([finish(run, 1, type, 'over'), finish(run, 1, type, 'over')]);
      expect(two).toEqual(one);
      expect(await finish(run, 1, type, 'over')).toEqual(one);
      const ends = (await typesOf(run.taskId)).slice(STARTED.length);
      expect(ends).toHaveLength(type === 'retry' || type === 'release' ? 2 : 1);
    },
  );
});

describe('a worker that was too slow', () => {
  it('gets the current generations, and nothing of it reaches the record', async () => {
    const slow = await claimed('slow');
    await publish(slow, 1, chunk('of the first'));
    await expire(slow.taskId);
    await replica.reaper.sweep();
    const [next] = await claim(worker, { waitMs: 5_000 });
    expect(next).toMatchObject({ taskId: slow.taskId, attempt: 2, leaseGeneration: 2, dispatcherGeneration: 2 });
    const before = await typesOf(slow.taskId);
    const stale = { kind: 'Fenced', details: { taskId: slow.taskId, leaseGeneration: 2, dispatcherGeneration: 2 } };
    await expect(publish(slow, 2, chunk('late', true))).rejects.toMatchObject(stale);
    await expect(finish(slow, 2, 'complete')).rejects.toMatchObject(stale);
    await expect(replica.remote.heartbeat(worker, slow.runId, fenceOf(slow))).rejects.toMatchObject(stale);
    // Nor with the generations of the one that has it now.
    await expect(publish({ ...slow, ...fenceOf(next!) }, 2, chunk('late'))).rejects.toMatchObject(stale);
    expect(await typesOf(slow.taskId)).toEqual(before);
    await publish(next!, 1, chunk('of the second'));
    await finish(next!, 2, 'complete');
    expect((await replica.get(alice, slow.taskId)).artifacts[0]!.parts).toEqual([{ text: 'of the second' }]);
    await expect(publish(slow, 3, chunk('later'))).rejects.toMatchObject({ kind: 'Fenced' });
  });
});

describe('what breaks the contract', () => {
  // F14, first half
  it('fails the task, with the reason in a record that stays readable', async () => {
    const { taskId, follower } = await replica.send(alice, 'broken');
    const outcome = follower.untilOutcome();
    const [run] = await claim();
    await publish(run!, 1, chunk('fine'));
    const broken: RemoteOutput = { ...chunk('for nothing', true), artifactId: 'never started' } as RemoteOutput;
    await expect(publish(run!, 2, chunk('lost with it', true), broken)).rejects.toMatchObject({
      kind: 'InvalidAgentResponse',
    });
    expect(await publish(run!, 2, broken)).toMatchObject({ status: 'failed', leaseMs: 0 });
    expect((await outcome).status).toBe('failed');
    const view = await replica.get(alice, taskId);
    expect(view.statusMessage?.parts[0]?.text).toMatch(/artifact "never started"/);
    expect(view.artifacts).toEqual([{ artifactId: 'out', parts: [{ text: 'fine' }] }]);
    expect((await replica.events(alice.tenantId, taskId)).at(-1)).toMatchObject({
      type: 'TaskFailed',
      facts: { reason: 'invalid-agent-response', seq: 2 },
    });
  });
});

describe('a run', () => {
  it.each([
    ['another worker of the same agent and ring', aWorker('stranger')],
    ['a worker of another ring', aWorker('worker', { rings: ['ring:ops'] })],
    ['a worker of another agent', aWorker('worker', { agents: ['other'] })],
    ['a worker of another tenant', aWorker('worker', { tenantId: 'umbrella' })],
  ])('is not there for %s', async (_who, stranger) => {
    const run = await claimed('mine');
    const refused = { kind: 'TaskNotFound' };
    const write = { ...fenceOf(run), seq: 1 };
    await expect(replica.remote.heartbeat(stranger, run.runId, write)).rejects.toMatchObject(refused);
    await expect(replica.remote.publish(stranger, run.runId, write, [])).rejects.toMatchObject(refused);
    await expect(replica.remote.finish(stranger, run.runId, write, { type: 'complete' })).rejects.toMatchObject(
      refused,
    );
    expect(await typesOf(run.taskId)).toEqual(STARTED);
  });

  it('that nobody ever started is not there, whether or not its task is', async () => {
    const run = await claimed('known');
    for (const runId of ['', '.', 'x', `${run.taskId}.x`, `${run.taskId}.`, run.taskId, `x${run.runId}`]) {
      const beat = replica.remote.heartbeat(worker, runId, fenceOf(run));
      await expect(beat).rejects.toMatchObject({ kind: 'TaskNotFound' });
    }
  });
});

describe('a worker’s key', () => {
  it('sends nothing, and sees no task: not even one of a member who is called the same', async () => {
    await replica.submit(aMember('worker'), 'of the namesake');
    expect((await replica.list(worker)).totalSize).toBe(0);
    await expect(replica.submit(worker, 'hello')).rejects.toMatchObject({ kind: 'Forbidden' });
    const run = await claimed('held');
    await expect(replica.get(worker, run.taskId)).rejects.toMatchObject({ kind: 'TaskNotFound' });
    await expect(replica.cancel(worker, run.taskId)).rejects.toMatchObject({ kind: 'TaskNotFound' });
    await expect(replica.resume(worker, run.taskId)).rejects.toMatchObject({ kind: 'TaskNotFound' });
  });
});
