import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Authenticator } from '@app/access';
import { DomainError, type Principal } from '@app/domain';
import type { SentMessage } from '@app/tasks';
import { aMember } from '../../../../test/support/tasks.js';
import { CallerRecheck } from '../edge/streams/credential-recheck.js';
import { HeldRequests } from './blocking-sends.js';

const WAITS = { returnImmediately: false };

let whoNow: () => Promise<Principal>;
let recheck: CallerRecheck;
let held: HeldRequests;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  whoNow = () => Promise.resolve(aMember('alice'));
  recheck = new CallerRecheck({ revalidate: () => whoNow() } as unknown as Authenticator);
  held = new HeldRequests(recheck);
});
afterEach(() => {
  held.onModuleDestroy();
  recheck.onModuleDestroy();
  jest.useRealTimers();
});

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A task of alice that waits for its outcome until it is told to have one. */
class Pending {
  outcome!: () => void;
  private readonly reached = new Promise<void>((resolve) => (this.outcome = resolve));
  readonly sent = {
    taskId: 'task-1',
    head: { state: { owner: 'alice', ring: 'ring:dev' } },
    follower: {
      untilOutcome: (stop: AbortSignal) =>
        Promise.race([
          this.reached,
          new Promise((_, reject) => stop.addEventListener('abort', () => reject(stop.reason as Error))),
        ]),
      view: async () => ({ taskId: 'task-1', state: {} }),
      close: () => undefined,
    },
  } as unknown as SentMessage;

  /** What the caller is answered: the task's id, or the kind of the refusal. */
  answerTo(subject = 'alice', client = new AbortController()): Promise<string> {
    const waiter = { principal: aMember(subject), authorization: 'Bearer x', signal: client.signal };
    return held.answer(waiter, this.sent, WAITS).then(
      ({ taskId }) => taskId,
      (error: Error) => error.name,
    );
  }
}

const LOST: [string, () => Promise<Principal>, string][] = [
  ['credential', () => Promise.reject(new DomainError('Unauthenticated', 'revoked', {})), 'Unauthenticated'],
  ['ring', () => Promise.resolve(aMember('alice', { rings: ['ring:other'] })), 'TaskNotFound'],
];

describe('a send that waits', () => {
  it.each(LOST)('is refused within seconds when its caller loses the %s', async (_what, now, refusal) => {
    const answer = new Pending().answerTo();
    await settled();
    whoNow = now;
    jest.advanceTimersByTime(5_000);
    expect(await answer).toBe(refusal);
  });

  it.each(LOST)('is refused when its outcome comes right after its caller lost the %s', async (_what, now, refusal) => {
    const task = new Pending();
    const answer = task.answerTo();
    await settled();
    whoNow = now;
    task.outcome();
    expect(await answer).toBe(refusal);
  });

  it('is answered while nobody can say whether the credential is still good', async () => {
    const task = new Pending();
    const answer = task.answerTo();
    await settled();
    whoNow = () => Promise.reject(new Error('no database'));
    jest.advanceTimersByTime(20_000);
    await settled();
    task.outcome();
    expect(await answer).toBe('task-1');
  });
});

describe('sends that wait', () => {
  const many = (count: number, subject: string, client: AbortController) =>
    Array.from({ length: count }, () => new Pending().answerTo(subject, client));

  it('are a thousand for one caller, and others may wait all the same', async () => {
    const client = new AbortController();
    const waiting = many(1_000, 'alice', client);
    expect(await new Pending().answerTo('alice')).toBe('Overloaded');
    const other = new Pending();
    const answer = other.answerTo('bob');
    other.outcome();
    expect(await answer).not.toBe('Overloaded');
    client.abort(new Error('gone'));
    await Promise.all(waiting);
  });

  it('are five thousand for the server, and one that leaves makes room', async () => {
    const client = new AbortController();
    const waiting = ['a', 'b', 'c', 'd', 'e'].flatMap((subject) => many(1_000, subject, client));
    expect(await new Pending().answerTo('alice')).toBe('Overloaded');
    client.abort(new Error('gone'));
    await Promise.all(waiting);
    const task = new Pending();
    const answer = task.answerTo('alice');
    task.outcome();
    expect(await answer).toBe('task-1');
  });
});
