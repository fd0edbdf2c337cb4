import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Principal } from '@app/domain';
import { Subject } from 'rxjs';
import { aWorker } from '../../../../test/support/tasks.js';
import { WaitingClaims } from './waiting-claims.js';

const POLL_MS = 1_000;
const here = new AbortController().signal;
let queued: Subject<string>;
let claims: WaitingClaims;
let work: string[];
let looks: string[];

beforeEach(() => {
  jest.useFakeTimers();
  queued = new Subject();
  claims = new WaitingClaims(queued, POLL_MS, { ofWorker: 3, inAll: 5 });
  work = [];
  looks = [];
});
afterEach(() => {
  // Whoever has gone leaves no timer and no ear behind.
  expect(jest.getTimerCount()).toBe(0);
  expect(queued.observed).toBe(false);
  jest.useRealTimers();
});

/** A claim that waits; each look of it takes one piece of work. */
function waiting(name: string, worker: Principal = aWorker('worker'), over: AbortSignal = here) {
  return claims.untilFound(worker, worker.agents, over, async () => {
    looks.push(name);
    return work.splice(0, 1);
  });
}

async function settled(): Promise<void> {
  await jest.advanceTimersByTimeAsync(0);
}

function queue(...pieces: string[]): Promise<void> {
  work.push(...pieces);
  queued.next('tester');
  return settled();
}

describe('a wake-up', () => {
  it('is for the first in line, and for the next while there is something', async () => {
    const all = ['a', 'b', 'c'].map((name) => waiting(name));
    await settled();
    await queue('one');
    // The second looks because the first found something, and the third not, because the second found nothing.
    expect(looks).toEqual(['a', 'b', 'c', 'a', 'b']);
    await queue('two', 'three');
    expect(looks.slice(5)).toEqual(['c', 'b']);
    expect(await Promise.all(all)).toEqual([['one'], ['three'], ['two']]);
  });

  it('goes to the next when the first fails to look', async () => {
    const failing = claims.untilFound(aWorker('worker'), ['tester'], here, async () => {
      if (looks.push('fails') === 1) return [];
      throw new Error('the database is away');
    });
    failing.catch(() => undefined);
    await settled();
    const second = waiting('second');
    await settled();
    await queue('one');
    expect(looks).toEqual(['fails', 'second', 'fails', 'second']);
    await expect(failing).rejects.toThrow('the database is away');
    expect(await second).toEqual(['one']);
  });

  it('goes to each line that could take the work', async () => {
    const ends = new AbortController();
    const strangers = [aWorker('of another ring', { rings: ['ring:ops'] }), aWorker('x', { tenantId: 'umbrella' })];
    const all = strangers.map((stranger) => waiting(stranger.subject, stranger, ends.signal));
    const deaf = waiting('of another agent', aWorker('deaf', { agents: ['other'] }), ends.signal);
    await settled();
    looks = [];
    await queue();
    expect(looks).toEqual(['of another ring', 'x']);
    ends.abort();
    expect(await Promise.all([...all, deaf])).toEqual([[], [], []]);
  });

  it('is not lost with one who goes when its turn has come', async () => {
    const goes = new AbortController();
    const gone = waiting('gone', aWorker('worker'), goes.signal);
    const next = waiting('next');
    await settled();
    work.push('one');
    queued.next('tester');
    goes.abort();
    expect(await gone).toEqual([]);
    expect(await next).toEqual(['one']);
  });

  it('that comes while everyone looks for the first time is heard', async () => {
    let answer = (_found: string[]) => {};
    const first = new Promise<string[]>((resolve) => (answer = resolve));
    const answers = [first, Promise.resolve(['one'])];
    const claimed = claims.untilFound(aWorker('worker'), ['tester'], here, () => answers.shift()!);
    queued.next('tester');
    answer([]);
    expect(await claimed).toEqual(['one']);
  });
});

it('looks once in a while for the whole line, one after the other', async () => {
  const ends = new AbortController();
  const all = ['a', 'b'].map((name) => waiting(name, aWorker('worker'), ends.signal));
  await settled();
  looks = [];
  await jest.advanceTimersByTimeAsync(4 * POLL_MS);
  expect(looks).toEqual(['a', 'b', 'a', 'b']);
  ends.abort();
  expect(await Promise.all(all)).toEqual([[], []]);
});

it('leaves the line to the others when a look fails', async () => {
  const broken = new Error('Connection terminated unexpectedly');
  const fails: (() => Promise<string[]>)[] = [async () => [], async () => Promise.reject(broken)];
  const failing = claims.untilFound(aWorker('worker'), ['tester'], here, () => fails.shift()!());
  failing.catch(() => undefined);
  const other = waiting('other');
  await settled();
  await queue();
  await expect(failing).rejects.toBe(broken);
  await queue('one');
  expect(await other).toEqual(['one']);
});

it('lets so many of one worker wait, and so many in all, and takes more once some have gone', async () => {
  const ends = new AbortController();
  const refused = { kind: 'Overloaded', details: { retryAfterSeconds: 5 } };
  const of = (subject: string, over = ends.signal) => waiting(subject, aWorker(subject), over);
  const one = new AbortController();
  const all = [of('a'), of('a'), of('a', one.signal)];
  await expect(of('a')).rejects.toMatchObject(refused);
  one.abort();
  await all[2];
  all.push(of('a'), of('b'), of('c'));
  await expect(of('d')).rejects.toMatchObject(refused);
  ends.abort();
  expect(await Promise.all(all)).toEqual(all.map(() => []));
});
