import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { Authenticator } from '@app/access';
import { DomainError, type Principal } from '@app/domain';
import { aWorker } from '../../../../../test/support/tasks.js';
import { CallerRecheck } from './credential-recheck.js';

let whoNow: () => Promise<Principal>;
let recheck: CallerRecheck;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  whoNow = () => Promise.resolve(aWorker('worker'));
  recheck = new CallerRecheck({ revalidate: () => whoNow() } as unknown as Authenticator);
});
afterEach(() => {
  recheck.onModuleDestroy();
  jest.useRealTimers();
});

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Waits for nothing but its end, and has nothing then. */
const claim = (signal: AbortSignal) =>
  new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('nothing')));

it('stops a claim that waits when its key is gone, and refuses it', async () => {
  const answer = recheck.during({ authorization: 'Bearer x' }, new AbortController().signal, claim);
  jest.advanceTimersByTime(5_000);
  await settled();
  whoNow = () => Promise.reject(new DomainError('Unauthenticated', 'revoked', {}));
  jest.advanceTimersByTime(5_000);
  await expect(answer).rejects.toMatchObject({ kind: 'Unauthenticated' });
});

it('stops a claim whose client has gone, which is nothing to refuse', async () => {
  const client = new AbortController();
  const answer = recheck.during({ authorization: 'Bearer x' }, client.signal, claim);
  client.abort();
  expect(await answer).toBe('nothing');
});
