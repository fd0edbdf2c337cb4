import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Authenticator } from '@app/access';
import { DomainError, type Principal } from '@app/domain';
import { aWorker } from '../../../../../test/support/tasks.js';
import { CredentialRecheck } from './credential-recheck.js';

const RESPONSE = { authorization: 'Bearer x' };

let revalidate: () => Promise<Principal>;
let recheck: CredentialRecheck;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  revalidate = () => Promise.resolve(aWorker('worker'));
  recheck = new CredentialRecheck({ revalidate: () => revalidate() } as unknown as Authenticator);
});
afterEach(() => {
  recheck.onModuleDestroy();
  jest.useRealTimers();
});

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A claim that finds no run. It returns when its signal aborts. */
const claim = ({ signal }: AbortController) =>
  new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('no run')));

describe('CredentialRecheck', () => {
  it('stops and rejects a waiting claim when its key is revoked', async () => {
    const response = recheck.runWithAccess(RESPONSE, new AbortController().signal, claim);
    jest.advanceTimersByTime(5_000);
    await settled();
    revalidate = () => Promise.reject(new DomainError('Unauthenticated', 'revoked', {}));
    jest.advanceTimersByTime(5_000);
    await expect(response).rejects.toMatchObject({ kind: 'Unauthenticated' });
  });

  it('stops a waiting claim without an error when its client disconnects', async () => {
    const client = new AbortController();
    const response = recheck.runWithAccess(RESPONSE, client.signal, claim);
    client.abort();
    expect(await response).toBe('no run');
  });
});
