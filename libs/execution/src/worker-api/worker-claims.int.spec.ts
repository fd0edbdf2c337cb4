import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DomainError, type Principal } from '@app/domain';
import { Acta, anAgent, type Replica } from '../../../../test/support/acta.js';
import { aMember, aWorker } from '../../../../test/support/tasks.js';

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
const HANDED_BACK = ['RunStarted', 'RunLost', 'RunRetried'];
const typesOf = async (taskId: string) => (await replica.events(alice.tenantId, taskId)).map(({ type }) => type);

describe('a claim', () => {
  it('gives work of the worker’s tenant, agents and rings, and of no others', async () => {
    await replica.submit(aMember('alice', { tenantId: 'umbrella' }), 'of another tenant');
    await replica.submit(aMember('alice', { rings: ['ring:ops'] }), 'in another ring');
    await replica.submit(alice, 'for another agent', { agent: 'other' });
    expect(await claim(worker, { limit: 32 })).toEqual([]);
    const [ops] = await claim(aWorker('ops', { rings: ['ring:ops'] }));
    expect(ops).toMatchObject({ ring: 'ring:ops' });
    const both = aWorker('both', { agents: ['tester', 'other'] });
    expect(await claim(both, { agents: ['tester'] })).toEqual([]);
    expect(await claim(both, { agents: [] })).toMatchObject([{ agent: 'other' }]);
    await expect(claim(worker, { agents: ['other'] })).rejects.toMatchObject({ kind: 'Forbidden' });
  });

  it.each(['member', 'admin'] as const)('is refused to the key of a %s', async (role) => {
    await expect(claim(aWorker('x', { role }))).rejects.toMatchObject({ kind: 'Forbidden' });
  });

  it('gives the oldest first, as many as were asked for, each to one worker', async () => {
    for (const n of [1, 2, 3, 4, 5]) await replica.submit(alice, `task ${n}`);
    const [first, ...others] = await Promise.all([1, 2, 3].map(() => claim(worker, { limit: 2 })));
    const ids = [...first!, ...others.flat()].map(({ taskId }) => taskId);
    expect(new Set(ids).size).toBe(ids.length);
    const rest = await claim(worker, { limit: 32 });
    expect(ids.length + rest.length).toBe(5);
  });

  it('gives a new turn of an old task after what was queued before it, and a run that was lost before what came later', async () => {
    const old = await replica.submit(alice, 'old');
    const [first] = await claim();
    const message = { parts: [{ text: 'what?' }] };
    await replica.remote.finish(worker, first!.runId, { ...first!, seq: 1 }, { type: 'requireInput', message });
    const younger = await replica.submit(alice, 'younger');
    await replica.submit(alice, 'that', { taskId: old });
    const [second] = await claim();
    expect(second).toMatchObject({ taskId: younger });
    const youngest = await replica.submit(alice, 'youngest');
    await replica.remote.finish(worker, second!.runId, { ...second!, seq: 1 }, { type: 'release' });
    const order = [];
    for (let n = 0; n < 3; n += 1) order.push(...(await claim()));
    expect(order.map(({ taskId }) => taskId)).toEqual([younger, old, youngest]);
  });

  it('that waits is answered as soon as work comes, from this process or another', async () => {
    const other = await acta.replica({ agents: [remote], concurrency: 0 });
    for (const from of [replica, other]) {
      const looks = watchLooks();
      const waiting = claim(worker, { waitMs: 30_000 });
      await looks.first;
      const taskId = await from.submit(alice, `from ${from === other ? 'another' : 'here'}`);
      expect(await waiting).toMatchObject([{ taskId }]);
      looks.stop();
      // It looked once in vain, and once because it was told to.
      expect(looks.count()).toBe(2);
    }
  });

  it('hears of work that comes while it looks', async () => {
    const waitingFor = replica.queue.waitingFor.bind(replica.queue);
    let taskId = '';
    replica.queue.waitingFor = async (...args) => {
      const found = await waitingFor(...args);
      replica.queue.waitingFor = waitingFor;
      taskId = await replica.submit(alice, 'meanwhile');
      return found;
    };
    expect(await claim(worker, { waitMs: 30_000 })).toMatchObject([{ taskId }]);
  });

  it('ends empty when its time is over, and when the server goes', async () => {
    expect(await claim(worker, { waitMs: 20 })).toEqual([]);
    const waiting = claim(worker, { waitMs: 30_000 });
    replica.remote.stop();
    expect(await waiting).toEqual([]);
    await expect(claim()).rejects.toMatchObject({ kind: 'Overloaded' });
  });

  it('of a client that has gone takes nothing, and what it took already goes to the next', async () => {
    const gone = new AbortController();
    const looks = watchLooks();
    const waiting = replica.remote.claim(worker, { waitMs: 30_000 }, gone.signal);
    await looks.first;
    gone.abort();
    expect(await waiting).toEqual([]);
    looks.stop();
    const taskId = await replica.submit(alice, 'for nobody');
    expect(await typesOf(taskId)).toEqual(['TaskSubmitted', 'MessageAccepted']);
    for (const when of ['read', 'commit'] as const) {
      const goes = new AbortController();
      const restore = when === 'read' ? onRead(() => goes.abort()) : onCommit(taskId, () => goes.abort());
      expect(await replica.remote.claim(worker, {}, goes.signal)).toEqual([]);
      restore();
    }
    expect((await typesOf(taskId)).slice(2)).toEqual([...HANDED_BACK, ...HANDED_BACK]);
    expect(await claim()).toMatchObject([{ taskId, attempt: 1, leaseGeneration: 3 }]);
  });

  it('that cannot be answered, because the task cannot be read, leaves it to the next', async () => {
    const ids = [await replica.submit(alice, 'one'), await replica.submit(alice, 'two')];
    const unread = new Error('Connection terminated unexpectedly');
    const restore = onRead((reads) => {
      if (reads === 2) throw unread;
    });
    await expect(claim(worker, { limit: 2 })).rejects.toBe(unread);
    restore();
    for (const taskId of ids) expect((await typesOf(taskId)).slice(2)).toEqual(HANDED_BACK);
    const next = await claim(worker, { limit: 2 });
    expect(next.map(({ taskId }) => taskId).toSorted()).toEqual(ids.toSorted());
    expect(next.map(({ attempt }) => attempt)).toEqual([1, 1]);
  });

  it('that can never be answered uses an attempt, as a run that ended so', async () => {
    const taskId = await replica.submit(alice, 'one');
    const spoiled = new TypeError('it cannot be read');
    const restore = onRead(() => {
      throw spoiled;
    });
    await expect(claim()).rejects.toBe(spoiled);
    restore();
    const lost = (await replica.events(alice.tenantId, taskId)).slice(3);
    expect(lost).toMatchObject([
      { type: 'RunLost', facts: { reason: 'retryable-error' } },
      { type: 'RunRetried', facts: { attempt: 1, counted: true } },
    ]);
  });

  it('that may not be answered any more goes to the next', async () => {
    const taskId = await replica.submit(alice, 'one');
    const revoked = new DomainError('Unauthenticated', 'revoked', {});
    const claiming = replica.remote.claim(worker, {}, new AbortController().signal, () => Promise.reject(revoked));
    await expect(claiming).rejects.toBe(revoked);
    expect((await typesOf(taskId)).slice(2)).toEqual(HANDED_BACK);
    expect(await claim()).toMatchObject([{ taskId, attempt: 1 }]);
  });

  it('hands back what it could not answer once the database is there again', async () => {
    const taskId = await replica.submit(alice, 'one');
    const unread = new Error('Connection terminated unexpectedly');
    const restore = onRead(() => {
      throw unread;
    });
    const apply = replica.streams.apply.bind(replica.streams);
    let tries = 0;
    replica.streams.apply = async (...command) => {
      tries += 1;
      if (tries < 3) throw unread;
      return apply(...command);
    };
    await expect(claim()).rejects.toBe(unread);
    restore();
    replica.streams.apply = apply;
    expect((await typesOf(taskId)).slice(2)).toEqual(HANDED_BACK);
    expect(await claim()).toMatchObject([{ taskId, attempt: 1 }]);
  });

  it('of a task whose content is spoiled has nothing to hand out, and the task fails', async () => {
    const taskId = await replica.submit(alice, 'spoiled');
    await acta.sql('alter table event disable trigger all');
    await acta.sql(`update event set content = '\\x00' where task_id = $1`, [taskId]);
    expect(await claim()).toEqual([]);
    expect((await replica.get(alice, taskId)).state.status).toBe('failed');
  });
});

/** Counts how often a claim looks into the queue. */
function watchLooks() {
  const waitingFor = replica.queue.waitingFor.bind(replica.queue);
  let looks = 0;
  let looked = () => {};
  const first = new Promise<void>((resolve) => (looked = resolve));
  replica.queue.waitingFor = async (...args) => {
    looks += 1;
    const found = await waitingFor(...args);
    setImmediate(looked);
    return found;
  };
  return { first, count: () => looks, stop: () => (replica.queue.waitingFor = waitingFor) };
}

/** Comes before each read of a conversation, with its number. */
function onRead(act: (reads: number) => void): () => void {
  const conversation = replica.reader.conversation.bind(replica.reader);
  let reads = 0;
  replica.reader.conversation = async (...args) => {
    act((reads += 1));
    return conversation(...args);
  };
  return () => void (replica.reader.conversation = conversation);
}

/** Comes when a claim has been recorded, before its answer is made. */
function onCommit(taskId: string, act: () => void): () => void {
  const subscription = replica.wakeups.changes(alice.tenantId, taskId).subscribe(act);
  return () => subscription.unsubscribe();
}
