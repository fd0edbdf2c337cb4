import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DomainError } from '@app/domain';
import { anAgent } from '../../../../test/support/replica-agents.js';
import { aMember, aWorker } from '../../../../test/support/tasks.js';
import { alice, worker, WorkerApi } from '../../../../test/support/clients/worker-api.js';

const RELEASED = ['RunStarted', 'RunLost', 'RunRetried'];
const connectionLost = new Error('Connection terminated unexpectedly');
let api: WorkerApi;

beforeEach(async () => {
  api = await WorkerApi.open();
});
afterEach(() => api?.close());

/** The events of a task after its message. */
const typesAfterMessage = async (taskId: string) => (await api.typesOf(taskId)).slice(2);

describe('WorkerClaims', () => {
  it("claims only tasks of the worker's tenant, agents and rings", async () => {
    await api.replica.submit(aMember('alice', { tenantId: 'umbrella' }), 'in a different tenant');
    await api.replica.submit(aMember('alice', { rings: ['ring:ops'] }), 'in a different ring');
    await api.replica.submit(alice, 'for a different agent', { agent: 'other' });
    expect(await api.claim(worker, { limit: 32 })).toEqual([]);
    const [ops] = await api.claim(aWorker('ops', { rings: ['ring:ops'] }));
    expect(ops).toMatchObject({ ring: 'ring:ops' });
    const both = aWorker('both', { agents: ['tester', 'other'] });
    expect(await api.claim(both, { agents: ['tester'] })).toEqual([]);
    expect(await api.claim(both, { agents: [] })).toMatchObject([{ agent: 'other' }]);
    await expect(api.claim(worker, { agents: ['other'] })).rejects.toMatchObject({ kind: 'Forbidden' });
  });

  it.each(['member', 'admin'] as const)('rejects a claim with the key of a %s', async (role) => {
    await expect(api.claim(aWorker('x', { role }))).rejects.toMatchObject({ kind: 'Forbidden' });
  });

  it('claims the oldest tasks first, up to the limit, each for one worker', async () => {
    for (const n of [1, 2, 3, 4, 5]) await api.replica.submit(alice, `task ${n}`);
    const claimed = (await Promise.all([1, 2, 3].map(() => api.claim(worker, { limit: 2 })))).flat();
    const ids = claimed.map(({ taskId }) => taskId);
    expect(new Set(ids).size).toBe(ids.length);
    const remaining = await api.claim(worker, { limit: 32 });
    expect(ids.length + remaining.length).toBe(5);
  });

  it('claims a new turn after tasks that were queued before it, and a lost run before tasks that were queued later', async () => {
    const old = await api.replica.submit(alice, 'old');
    const [first] = await api.claim();
    const message = { parts: [{ text: 'what?' }] };
    await api.runs.finish(worker, first!.runId, { ...first!, seq: 1 }, { type: 'requireInput', message });
    const younger = await api.replica.submit(alice, 'younger');
    await api.replica.submit(alice, 'that', { taskId: old });
    const [second] = await api.claim();
    expect(second).toMatchObject({ taskId: younger });
    const youngest = await api.replica.submit(alice, 'youngest');
    await api.runs.finish(worker, second!.runId, { ...second!, seq: 1 }, { type: 'release' });
    const order = [];
    for (let n = 0; n < 3; n += 1) order.push(...(await api.claim()));
    expect(order.map(({ taskId }) => taskId)).toEqual([younger, old, youngest]);
  });

  it('ends a waiting claim as soon as a task is queued, by this process or by a different one', async () => {
    const other = await api.acta.replica({ agents: [anAgent(undefined)], concurrency: 0 });
    for (const from of [api.replica, other]) {
      const attempts = watchAttempts();
      const waiting = api.claim(worker, { waitMs: 30_000 });
      await attempts.first;
      const taskId = await from.submit(alice, `from ${from === other ? 'the other process' : 'this process'}`);
      expect(await waiting).toMatchObject([{ taskId }]);
      attempts.stop();
      // The first attempt found nothing, and the wake-up caused the second one.
      expect(attempts.count()).toBe(2);
    }
  });

  it('claims a task that is queued during an attempt', async () => {
    const { queue } = api.replica;
    const lock = queue.lockWaitingForWorker.bind(queue);
    let taskId = '';
    queue.lockWaitingForWorker = async (...args) => {
      const found = await lock(...args);
      queue.lockWaitingForWorker = lock;
      taskId = await api.replica.submit(alice, 'meanwhile');
      return found;
    };
    expect(await api.claim(worker, { waitMs: 30_000 })).toMatchObject([{ taskId }]);
  });

  it('ends a waiting claim without a run at its time limit, and when the server stops', async () => {
    expect(await api.claim(worker, { waitMs: 20 })).toEqual([]);
    const waiting = api.claim(worker, { waitMs: 30_000 });
    api.claims.stop();
    expect(await waiting).toEqual([]);
    await expect(api.claim()).rejects.toMatchObject({ kind: 'Overloaded' });
  });

  it('claims nothing for a client that has disconnected, and releases what it has claimed already', async () => {
    const disconnect = new AbortController();
    const attempts = watchAttempts();
    const waiting = api.claims.claim(worker, { waitMs: 30_000 }, disconnect.signal);
    await attempts.first;
    disconnect.abort();
    expect(await waiting).toEqual([]);
    attempts.stop();
    const taskId = await api.replica.submit(alice, 'for nobody');
    expect(await api.typesOf(taskId)).toEqual(['TaskSubmitted', 'MessageAccepted']);
    for (const time of ['read', 'commit'] as const) {
      const client = new AbortController();
      const disconnectNow = () => client.abort();
      const restore = time === 'read' ? beforeRead(disconnectNow) : afterCommit(taskId, disconnectNow);
      expect(await api.claims.claim(worker, {}, client.signal)).toEqual([]);
      restore();
    }
    expect(await typesAfterMessage(taskId)).toEqual([...RELEASED, ...RELEASED]);
    expect(await api.claim()).toMatchObject([{ taskId, attempt: 1, leaseGeneration: 3 }]);
  });

  it('releases its runs when the database is unavailable while it reads their messages', async () => {
    const ids = [await api.replica.submit(alice, 'one'), await api.replica.submit(alice, 'two')];
    const restore = beforeRead((reads) => {
      if (reads === 2) throw connectionLost;
    });
    await expect(api.claim(worker, { limit: 2 })).rejects.toBe(connectionLost);
    restore();
    for (const taskId of ids) expect(await typesAfterMessage(taskId)).toEqual(RELEASED);
    const next = await api.claim(worker, { limit: 2 });
    expect(next.map(({ taskId }) => taskId).toSorted()).toEqual(ids.toSorted());
    expect(next.map(({ attempt }) => attempt)).toEqual([1, 1]);
  });

  it('uses an attempt for a run that is undeliverable for any other reason', async () => {
    const taskId = await api.replica.submit(alice, 'one');
    const unreadable = new TypeError('it cannot be read');
    const restore = beforeRead(() => {
      throw unreadable;
    });
    await expect(api.claim()).rejects.toBe(unreadable);
    restore();
    const lost = (await api.replica.events(alice.tenantId, taskId)).slice(3);
    expect(lost).toMatchObject([
      { type: 'RunLost', facts: { reason: 'retryable-error' } },
      { type: 'RunRetried', facts: { attempt: 1, counted: true } },
    ]);
  });

  it('releases its runs when the caller has lost access before the response', async () => {
    const taskId = await api.replica.submit(alice, 'one');
    const revoked = new DomainError('Unauthenticated', 'revoked', {});
    const { signal } = new AbortController();
    await expect(api.claims.claim(worker, {}, signal, () => Promise.reject(revoked))).rejects.toBe(revoked);
    expect(await typesAfterMessage(taskId)).toEqual(RELEASED);
    expect(await api.claim()).toMatchObject([{ taskId, attempt: 1 }]);
  });

  it('repeats a release until the database is available again', async () => {
    const taskId = await api.replica.submit(alice, 'one');
    const restore = beforeRead(() => {
      throw connectionLost;
    });
    const { writer } = api.replica;
    const apply = writer.apply.bind(writer);
    let tries = 0;
    writer.apply = async (...command) => {
      tries += 1;
      if (tries < 3) throw connectionLost;
      return apply(...command);
    };
    await expect(api.claim()).rejects.toBe(connectionLost);
    restore();
    writer.apply = apply;
    expect(await typesAfterMessage(taskId)).toEqual(RELEASED);
    expect(await api.claim()).toMatchObject([{ taskId, attempt: 1 }]);
  });

  it('fails a task whose content is corrupt, and returns no run for it', async () => {
    const taskId = await api.replica.submit(alice, 'corrupt');
    await api.acta.sql('alter table event disable trigger all');
    await api.acta.sql(`update event set content = '\\x00' where task_id = $1`, [taskId]);
    expect(await api.claim()).toEqual([]);
    expect((await api.replica.get(alice, taskId)).state.status).toBe('failed');
  });
});

/** Counts how often claims look for tasks in the queue. */
function watchAttempts() {
  const { queue } = api.replica;
  const lock = queue.lockWaitingForWorker.bind(queue);
  let count = 0;
  let onFirst = () => {};
  const first = new Promise<void>((resolve) => (onFirst = resolve));
  queue.lockWaitingForWorker = async (...args) => {
    count += 1;
    const found = await lock(...args);
    setImmediate(onFirst);
    return found;
  };
  return { first, count: () => count, stop: () => (queue.lockWaitingForWorker = lock) };
}

/** Calls `act` before each read of a conversation, with the number of the read. */
function beforeRead(act: (reads: number) => void): () => void {
  const { reader } = api.replica;
  const conversation = reader.conversation.bind(reader);
  let reads = 0;
  reader.conversation = async (...args) => {
    act((reads += 1));
    return conversation(...args);
  };
  return () => void (reader.conversation = conversation);
}

/** Calls `act` after the claim of a task is committed, before its response is made. */
function afterCommit(taskId: string, act: () => void): () => void {
  const subscription = api.replica.wakeups.changes(alice.tenantId, taskId).subscribe(act);
  return () => subscription.unsubscribe();
}
