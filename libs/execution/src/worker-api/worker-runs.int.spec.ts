import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { aMember, aMessage, aWorker } from '../../../../test/support/tasks.js';
import { alice, worker, WorkerApi } from '../../../../test/support/clients/worker-api.js';
import type { WorkerOutcome, WorkerOutput, WorkerRun } from './worker-run.js';

const STARTED = ['TaskSubmitted', 'MessageAccepted', 'RunStarted'];
let api: WorkerApi;

beforeEach(async () => {
  api = await WorkerApi.open();
});
afterEach(() => api?.close());

async function claimNew(text: string): Promise<WorkerRun> {
  await api.replica.submit(alice, text);
  return (await api.claim())[0]!;
}
const fenceOf = ({ leaseGeneration, dispatcherGeneration }: WorkerRun) => ({ leaseGeneration, dispatcherGeneration });
const publish = (run: WorkerRun, seq: number, ...outputs: WorkerOutput[]) =>
  api.runs.publish(worker, run.runId, { ...fenceOf(run), seq }, outputs);
const finish = (run: WorkerRun, seq: number, type: WorkerOutcome['type'], text?: string) =>
  api.runs.finish(worker, run.runId, { ...fenceOf(run), seq }, { type, ...(text ? { message: messageOf(text) } : {}) });
const messageOf = (text: string) => ({ parts: [{ text }] });
const chunk = (text: string, append = false): WorkerOutput => ({
  type: 'artifact',
  artifactId: 'out',
  append,
  last: false,
  artifact: messageOf(text),
});

describe('WorkerRuns', () => {
  it('executes an agent that has no code in the server, and records which worker executed it', async () => {
    const taskId = await api.replica.submit(alice, 'remote');
    const [run] = await api.claim();
    expect(run).toMatchObject({ taskId, ring: 'ring:dev', agent: 'tester', attempt: 1, message: aMessage('remote') });
    expect(await publish(run!, 1, { type: 'working' }, chunk('a'))).toMatchObject({
      status: 'working',
      leaseMs: 30_000,
    });
    await publish(run!, 2, chunk('b', true));
    expect(await finish(run!, 3, 'complete')).toMatchObject({ status: 'completed', leaseMs: 0 });
    const view = await api.replica.get(alice, taskId);
    expect(view.artifacts).toEqual([{ artifactId: 'out', parts: [{ text: 'ab' }] }]);
    const started = (await api.replica.events(alice.tenantId, taskId))[2];
    expect(started).toMatchObject({ type: 'RunStarted', facts: { worker: 'remote:worker', leaseGeneration: 1 } });
  });

  it.each([
    ['complete', 'completed'],
    ['fail', 'failed'],
    ['reject', 'rejected'],
    ['requireInput', 'input-required'],
    ['requireAuth', 'auth-required'],
    // The client already knows the task, so the reply completes it.
    ['reply', 'completed'],
    ['canceled', 'canceled'],
    ['retry', 'working'],
    ['release', 'working'],
  ] as const)('records the outcome "%s", after which the task is %s', async (type, status) => {
    const run = await claimNew(type);
    await finish(run, 1, type, 'the reason');
    const { state, statusMessage } = await api.replica.get(alice, run.taskId);
    expect(state.status).toBe(status);
    if (type !== 'retry' && type !== 'release') expect(statusMessage?.parts).toEqual([{ text: 'the reason' }]);
  });

  it('returns the earlier messages as history in the next turn', async () => {
    const first = await claimNew('first');
    await finish(first, 1, 'requireInput', 'which?');
    await api.replica.submit(alice, aMessage('second'), { taskId: first.taskId });
    const [second] = await api.claim();
    expect(second).toMatchObject({ taskId: first.taskId, leaseGeneration: 2, dispatcherGeneration: 2 });
    expect(second!.message).toEqual(aMessage('second'));
    expect(second!.history.map(({ parts }) => parts[0]!.text)).toEqual(['first', 'which?']);
  });

  it('queues a released run immediately without using an attempt, and a retried run later with the next attempt', async () => {
    const run = await claimNew('again');
    await finish(run, 1, 'release');
    const [again] = await api.claim();
    expect(again).toMatchObject({ attempt: 1, leaseGeneration: 2 });
    await finish(again!, 1, 'retry');
    const [third] = await api.claim(worker, { waitMs: 5_000 });
    expect(third).toMatchObject({ attempt: 2, leaseGeneration: 3 });
    const lost = (await api.replica.events(alice.tenantId, run.taskId)).filter(({ type }) => type === 'RunLost');
    expect(lost.map(({ facts }) => (facts as { reason: string }).reason)).toEqual(['released', 'retryable-error']);
  });

  it('renews the lease with a heartbeat, whose response contains a cancel request and new messages', async () => {
    const run = await claimNew('heartbeat');
    await api.acta.sql(`update run_queue set lease_expires_at = now() + interval '1 second'`);
    const before = await api.acta.leaseEndOf(run.taskId);
    const heartbeat = (readThrough?: number) =>
      api.runs.heartbeat(worker, run.runId, {
        ...fenceOf(run),
        ...(readThrough === undefined ? {} : { readThrough }),
      });
    expect(await heartbeat(run.version)).toMatchObject({ cancelRequested: false, messages: [], leaseMs: 30_000 });
    expect((await api.acta.leaseEndOf(run.taskId)) - before).toBeGreaterThan(20_000);
    // More events than a page of the log are between the message and the version that the worker has read.
    for (let seq = 1; seq <= 120; seq += 1) await publish(run, seq, chunk(`${seq} `, seq > 1));
    await api.replica.submit(alice, aMessage('and this'), { taskId: run.taskId });
    const { messages } = await heartbeat(run.version);
    expect(messages.map(({ message }) => message)).toEqual([aMessage('and this')]);
    expect((await heartbeat(messages[0]!.version)).messages).toEqual([]);
    expect((await heartbeat()).messages).toEqual([]);
    const canceling = api.replica.cancel(alice, run.taskId);
    await api.replica.until(alice.tenantId, run.taskId, (state) => state.cancelDeadline !== null);
    expect(await heartbeat()).toMatchObject({ cancelRequested: true });
    await finish(run, 121, 'canceled', 'stopped');
    expect((await canceling).state.status).toBe('canceled');
  });

  it('rejects a heartbeat after the lease, even before the run is reclaimed', async () => {
    const run = await claimNew('late');
    await api.acta.expireLease(run.taskId);
    await expect(api.runs.heartbeat(worker, run.runId, fenceOf(run))).rejects.toMatchObject({
      kind: 'Fenced',
      details: { leaseGeneration: 1, dispatcherGeneration: 1 },
    });
  });

  it('adds nothing for a repeated seq', async () => {
    const run = await claimNew('twice');
    await publish(run, 1, chunk('once'));
    expect(await publish(run, 1, chunk('once'))).toMatchObject({ status: 'working' });
    await publish(run, 5, chunk(' and on', true));
    await publish(run, 3, chunk(' late', true));
    await finish(run, 6, 'complete');
    expect((await api.replica.get(alice, run.taskId)).artifacts[0]!.parts).toEqual([{ text: 'once and on' }]);
  });

  it.each(['complete', 'fail', 'canceled', 'retry', 'release', 'requireInput'] as const)(
    'adds nothing for a repeated outcome "%s", even if both calls are concurrent',
    async (type) => {
      const run = await claimNew(`ends with ${type}`);
      const [one, two] = await Promise.all([finish(run, 1, type, 'over'), finish(run, 1, type, 'over')]);
      expect(two).toEqual(one);
      expect(await finish(run, 1, type, 'over')).toEqual(one);
      const ends = (await api.typesOf(run.taskId)).slice(STARTED.length);
      expect(ends).toHaveLength(type === 'retry' || type === 'release' ? 2 : 1);
    },
  );

  it('rejects every call for a reclaimed run with the current generations, and records nothing of it', async () => {
    const slow = await claimNew('slow');
    await publish(slow, 1, chunk('of the first'));
    await api.acta.expireLease(slow.taskId);
    await api.replica.reaper.sweep();
    const [next] = await api.claim(worker, { waitMs: 5_000 });
    expect(next).toMatchObject({ taskId: slow.taskId, attempt: 2, leaseGeneration: 2, dispatcherGeneration: 2 });
    const before = await api.typesOf(slow.taskId);
    const stale = { kind: 'Fenced', details: { taskId: slow.taskId, leaseGeneration: 2, dispatcherGeneration: 2 } };
    await expect(publish(slow, 2, chunk('late', true))).rejects.toMatchObject(stale);
    await expect(finish(slow, 2, 'complete')).rejects.toMatchObject(stale);
    await expect(api.runs.heartbeat(worker, slow.runId, fenceOf(slow))).rejects.toMatchObject(stale);
    // The generations of the current run do not help with the old run id.
    await expect(publish({ ...slow, ...fenceOf(next!) }, 2, chunk('late'))).rejects.toMatchObject(stale);
    expect(await api.typesOf(slow.taskId)).toEqual(before);
    await publish(next!, 1, chunk('of the second'));
    await finish(next!, 2, 'complete');
    expect((await api.replica.get(alice, slow.taskId)).artifacts[0]!.parts).toEqual([{ text: 'of the second' }]);
    await expect(publish(slow, 3, chunk('later'))).rejects.toMatchObject({ kind: 'Fenced' });
  });

  // F14, first half
  it('fails the task for an invalid output, and keeps the artifacts before it readable', async () => {
    const { taskId, follower } = await api.replica.send(alice, 'broken');
    const outcome = follower.untilOutcome();
    const [run] = await api.claim();
    await publish(run!, 1, chunk('fine'));
    const invalid = { ...chunk('for nothing', true), artifactId: 'never started' } as WorkerOutput;
    await expect(publish(run!, 2, chunk('lost with it', true), invalid)).rejects.toMatchObject({
      kind: 'InvalidAgentResponse',
    });
    expect(await publish(run!, 2, invalid)).toMatchObject({ status: 'failed', leaseMs: 0 });
    expect((await outcome).status).toBe('failed');
    const view = await api.replica.get(alice, taskId);
    expect(view.statusMessage?.parts[0]?.text).toMatch(/artifact "never started"/);
    expect(view.artifacts).toEqual([{ artifactId: 'out', parts: [{ text: 'fine' }] }]);
    expect((await api.replica.events(alice.tenantId, taskId)).at(-1)).toMatchObject({
      type: 'TaskFailed',
      facts: { reason: 'invalid-agent-response', seq: 2 },
    });
  });

  it.each([
    ['a different worker of the same agent and ring', aWorker('stranger')],
    ['a worker of a different ring', aWorker('worker', { rings: ['ring:ops'] })],
    ['a worker of a different agent', aWorker('worker', { agents: ['other'] })],
    ['a worker of a different tenant', aWorker('worker', { tenantId: 'umbrella' })],
  ])('does not show a run to %s', async (_worker, stranger) => {
    const run = await claimNew('mine');
    const notFound = { kind: 'TaskNotFound' };
    const write = { ...fenceOf(run), seq: 1 };
    await expect(api.runs.heartbeat(stranger, run.runId, write)).rejects.toMatchObject(notFound);
    await expect(api.runs.publish(stranger, run.runId, write, [])).rejects.toMatchObject(notFound);
    const finishing = api.runs.finish(stranger, run.runId, write, { type: 'complete' });
    await expect(finishing).rejects.toMatchObject(notFound);
    expect(await api.typesOf(run.taskId)).toEqual(STARTED);
  });

  it('finds no run under an id that was never claimed, whether or not the task exists', async () => {
    const run = await claimNew('known');
    for (const runId of ['', '.', 'x', `${run.taskId}.x`, `${run.taskId}.`, run.taskId, `x${run.runId}`]) {
      const heartbeat = api.runs.heartbeat(worker, runId, fenceOf(run));
      await expect(heartbeat).rejects.toMatchObject({ kind: 'TaskNotFound' });
    }
  });

  it("gives a worker's key no access to tasks, even to those of a member with the same subject", async () => {
    const { replica } = api;
    await replica.submit(aMember('worker'), 'of the namesake');
    expect((await replica.list(worker)).totalSize).toBe(0);
    await expect(replica.submit(worker, 'hello')).rejects.toMatchObject({ kind: 'Forbidden' });
    const run = await claimNew('active');
    await expect(replica.get(worker, run.taskId)).rejects.toMatchObject({ kind: 'TaskNotFound' });
    await expect(replica.cancel(worker, run.taskId)).rejects.toMatchObject({ kind: 'TaskNotFound' });
    await expect(replica.resume(worker, run.taskId)).rejects.toMatchObject({ kind: 'TaskNotFound' });
  });
});
