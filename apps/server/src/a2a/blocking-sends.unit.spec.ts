import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Authenticator } from '@app/access';
import { DomainError, type Principal } from '@app/domain';
import type { SentMessage } from '@app/tasks';
import { aMember } from '../../../../test/support/tasks.js';
import { CredentialRecheck } from '../edge/streams/credential-recheck.js';
import { BlockingSends } from './blocking-sends.js';

let revalidate: () => Promise<Principal>;
let recheck: CredentialRecheck;
let sends: BlockingSends;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  revalidate = () => Promise.resolve(aMember('alice'));
  recheck = new CredentialRecheck({ revalidate: () => revalidate() } as unknown as Authenticator);
  sends = new BlockingSends(recheck);
});
afterEach(() => {
  sends.onModuleDestroy();
  recheck.onModuleDestroy();
  jest.useRealTimers();
});

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A sent message of alice whose task has no outcome until `reachOutcome` is called. */
class PendingSend {
  reachOutcome!: () => void;
  private readonly outcome = new Promise<void>((resolve) => (this.reachOutcome = resolve));
  private readonly sent = {
    taskId: 'task-1',
    head: { state: { owner: 'alice', ring: 'ring:dev' } },
    follower: {
      untilOutcome: (stop: AbortSignal) =>
        Promise.race([
          this.outcome,
          new Promise((_, reject) => stop.addEventListener('abort', () => reject(stop.reason as Error))),
        ]),
    },
  } as unknown as SentMessage;

  /** Resolves with `outcome`, or with the kind of the error. */
  wait(subject = 'alice', client = new AbortController()): Promise<string> {
    const caller = { principal: aMember(subject), authorization: 'Bearer x', signal: client.signal };
    return sends.waitForOutcome(caller, this.sent).then(
      () => 'outcome',
      (error: Error) => error.name,
    );
  }
}

const LOST_ACCESS: [string, () => Promise<Principal>, string][] = [
  ['credential', () => Promise.reject(new DomainError('Unauthenticated', 'revoked', {})), 'Unauthenticated'],
  ['ring', () => Promise.resolve(aMember('alice', { rings: ['ring:other'] })), 'TaskNotFound'],
];

describe('BlockingSends: a waiting send', () => {
  it.each(LOST_ACCESS)('is rejected within 5 s when its caller loses the %s', async (_what, result, kind) => {
    const response = new PendingSend().wait();
    await settled();
    revalidate = result;
    jest.advanceTimersByTime(5_000);
    expect(await response).toBe(kind);
  });

  it.each(LOST_ACCESS)(
    'is rejected when its outcome arrives right after its caller has lost the %s',
    async (_what, result, kind) => {
      const send = new PendingSend();
      const response = send.wait();
      await settled();
      revalidate = result;
      send.reachOutcome();
      expect(await response).toBe(kind);
    },
  );

  it('returns its outcome when the credential cannot be looked up meanwhile', async () => {
    const send = new PendingSend();
    const response = send.wait();
    await settled();
    revalidate = () => Promise.reject(new Error('no database'));
    jest.advanceTimersByTime(20_000);
    await settled();
    send.reachOutcome();
    expect(await response).toBe('outcome');
  });

  it('is rejected with Overloaded when the server shuts down', async () => {
    const response = new PendingSend().wait();
    await settled();
    sends.onModuleDestroy();
    expect(await response).toBe('Overloaded');
    expect(await new PendingSend().wait()).toBe('Overloaded');
  });
});

describe('BlockingSends: waiting sends', () => {
  const waitMany = (count: number, subject: string, client: AbortController) =>
    Array.from({ length: count }, () => new PendingSend().wait(subject, client));

  it('are limited to 1,000 for each caller, and do not reduce the limit of other callers', async () => {
    const client = new AbortController();
    const waiting = waitMany(1_000, 'alice', client);
    expect(await new PendingSend().wait('alice')).toBe('Overloaded');
    const other = new PendingSend();
    const response = other.wait('bob');
    other.reachOutcome();
    expect(await response).not.toBe('Overloaded');
    client.abort(new Error('disconnected'));
    await Promise.all(waiting);
  });

  it('are limited to 5,000 for the server, and each that ends allows one more', async () => {
    const client = new AbortController();
    const waiting = ['a', 'b', 'c', 'd', 'e'].flatMap((subject) => waitMany(1_000, subject, client));
    expect(await new PendingSend().wait('alice')).toBe('Overloaded');
    client.abort(new Error('disconnected'));
    await Promise.all(waiting);
    const send = new PendingSend();
    const response = send.wait('alice');
    send.reachOutcome();
    expect(await response).toBe('outcome');
  });
});
