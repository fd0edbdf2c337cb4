import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Principal } from '@app/domain';
import type { TaskWakeups } from '@app/storage';
import { Subject } from 'rxjs';
import { aWorker } from '../../../../test/support/tasks.js';
import type { ExecutionOptions } from '../execution-options.js';
import { WaitingClaims } from './waiting-claims.js';

const POLL_MS = 1_000;
const noAbort = new AbortController().signal;
let queuedAgents: Subject<string>;
let claims: WaitingClaims;
let tasks: string[];
/** The claims that looked for a task, in order. */
let attempts: string[];

/** A claim that waits. Each of its attempts takes one task. */
function claim(name: string, worker: Principal = aWorker('worker'), signal: AbortSignal = noAbort) {
  return claims.untilFound(worker, worker.agents, signal, async () => {
    attempts.push(name);
    return tasks.splice(0, 1);
  });
}

async function settled(): Promise<void> {
  await jest.advanceTimersByTimeAsync(0);
}

function queue(...added: string[]): Promise<void> {
  tasks.push(...added);
  queuedAgents.next('tester');
  return settled();
}

describe('WaitingClaims', () => {
  beforeEach(() => {
    jest.useFakeTimers();
    queuedAgents = new Subject();
    claims = new WaitingClaims(
      { queuedAgents } as unknown as TaskWakeups,
      { waitingClaims: { perWorker: 3, total: 5, pollMs: POLL_MS } } as ExecutionOptions,
    );
    tasks = [];
    attempts = [];
  });
  afterEach(() => {
    // Claims that have ended leave no timer and no subscription.
    expect(jest.getTimerCount()).toBe(0);
    expect(queuedAgents.observed).toBe(false);
    jest.useRealTimers();
  });

  it('wakes the first claim in the queue, and the next one as long as tasks are found', async () => {
    const all = ['a', 'b', 'c'].map((name) => claim(name));
    await settled();
    await queue('one');
    // The second claim looks because the first found a task. The third does not, because the second found none.
    expect(attempts).toEqual(['a', 'b', 'c', 'a', 'b']);
    await queue('two', 'three');
    expect(attempts.slice(5)).toEqual(['c', 'b']);
    expect(await Promise.all(all)).toEqual([['one'], ['three'], ['two']]);
  });

  it('wakes the next claim when the first one fails', async () => {
    const failing = claims.untilFound(aWorker('worker'), ['tester'], noAbort, async () => {
      if (attempts.push('fails') === 1) return [];
      throw new Error('the database is unavailable');
    });
    failing.catch(() => undefined);
    await settled();
    const second = claim('second');
    await settled();
    await queue('one');
    expect(attempts).toEqual(['fails', 'second', 'fails', 'second']);
    await expect(failing).rejects.toThrow('the database is unavailable');
    expect(await second).toEqual(['one']);
  });

  it('wakes one claim of each tenant, ring and agent that could take the task', async () => {
    const end = new AbortController();
    const others = [aWorker('of a different ring', { rings: ['ring:ops'] }), aWorker('x', { tenantId: 'umbrella' })];
    const all = others.map((other) => claim(other.subject, other, end.signal));
    const otherAgent = claim('of a different agent', aWorker('other agent', { agents: ['other'] }), end.signal);
    await settled();
    attempts = [];
    await queue();
    expect(attempts).toEqual(['of a different ring', 'x']);
    end.abort();
    expect(await Promise.all([...all, otherAgent])).toEqual([[], [], []]);
  });

  it('wakes the next claim when the first one aborts during its turn', async () => {
    const abort = new AbortController();
    const aborted = claim('aborted', aWorker('worker'), abort.signal);
    const next = claim('next');
    await settled();
    tasks.push('one');
    queuedAgents.next('tester');
    abort.abort();
    expect(await aborted).toEqual([]);
    expect(await next).toEqual(['one']);
  });

  it('keeps a wake-up that comes during the first attempt of a claim', async () => {
    let finishFirst = (_found: string[]) => {};
    const first = new Promise<string[]>((resolve) => (finishFirst = resolve));
    const results = [first, Promise.resolve(['one'])];
    const claimed = claims.untilFound(aWorker('worker'), ['tester'], noAbort, () => results.shift()!);
    queuedAgents.next('tester');
    finishFirst([]);
    expect(await claimed).toEqual(['one']);
  });

  it('lets one claim of the queue look for tasks in each poll period', async () => {
    const end = new AbortController();
    const all = ['a', 'b'].map((name) => claim(name, aWorker('worker'), end.signal));
    await settled();
    attempts = [];
    await jest.advanceTimersByTimeAsync(4 * POLL_MS);
    expect(attempts).toEqual(['a', 'b', 'a', 'b']);
    end.abort();
    expect(await Promise.all(all)).toEqual([[], []]);
  });

  it('keeps the queue working for the other claims when one claim fails', async () => {
    const broken = new Error('Connection terminated unexpectedly');
    const results: (() => Promise<string[]>)[] = [async () => [], async () => Promise.reject(broken)];
    const failing = claims.untilFound(aWorker('worker'), ['tester'], noAbort, () => results.shift()!());
    failing.catch(() => undefined);
    const other = claim('other');
    await settled();
    await queue();
    await expect(failing).rejects.toBe(broken);
    await queue('one');
    expect(await other).toEqual(['one']);
  });

  it('limits the waiting claims of one worker and of all workers, and accepts more when some have ended', async () => {
    const end = new AbortController();
    const overloaded = { kind: 'Overloaded', details: { retryAfterSeconds: 5 } };
    const claimOf = (subject: string, signal = end.signal) => claim(subject, aWorker(subject), signal);
    const one = new AbortController();
    const all = [claimOf('a'), claimOf('a'), claimOf('a', one.signal)];
    await expect(claimOf('a')).rejects.toMatchObject(overloaded);
    one.abort();
    await all[2];
    all.push(claimOf('a'), claimOf('b'), claimOf('c'));
    await expect(claimOf('d')).rejects.toMatchObject(overloaded);
    end.abort();
    expect(await Promise.all(all)).toEqual(all.map(() => []));
  });
});
