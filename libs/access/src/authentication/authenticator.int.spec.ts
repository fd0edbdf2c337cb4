import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Clock, DomainError, type Principal } from '@app/domain';
import { Database, ServerSecret } from '@app/storage';
import { firstValueFrom, Subject } from 'rxjs';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database/test-database.js';
import { ApiKeys } from '../keys/api-keys.js';
import { AuditLog } from '../audit/audit-log.js';
import { Authenticator, BOOTSTRAP_ADMIN } from './authenticator.js';

const TOKEN = 'b'.repeat(43);
const OPERATOR: Principal = { tenantId: 'default', subject: 'ops', role: 'operator', rings: [], agents: [] };
const REQUEST = { tenantId: 'acme', subject: 'alice', role: 'member', rings: ['ring:dev'] } as const;
const ALICE = { ...REQUEST, agents: [] };

let testDatabase: TestDatabase;
let database: Database;
let now: number;
let apiKeys: ApiKeys;
/** The keys as a different process has them. */
let otherProcessKeys: ApiKeys;
let authenticator: Authenticator;

const clock: Clock = { now: () => new Date(now) };
const newKeys = () => new ApiKeys(database, new AuditLog(database), clock);
const newAuthenticator = (change: { auth?: 'none'; token?: string } = {}) =>
  new Authenticator({ auth: 'required', token: TOKEN, oidc: null, ...change }, apiKeys, clock);

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = new Database(testDatabase.url);
  await database.initializeServerState(new ServerSecret('secret of the authentication tests'));
});
afterAll(async () => {
  await database?.close();
  await testDatabase?.drop();
});
beforeEach(() => {
  now = Date.parse('2026-01-01T00:00:00Z');
  apiKeys = newKeys();
  otherProcessKeys = newKeys();
  authenticator = newAuthenticator();
});

const authenticate = (authorization: string | undefined, remoteAddress = '10.0.0.1') =>
  authenticator.authenticate({ authorization, remoteAddress });
const withToken = (token: string, remoteAddress?: string) => authenticate(`Bearer ${token}`, remoteAddress);

async function kindOf(work: Promise<unknown>): Promise<string> {
  const outcome = await work.catch((error: unknown) => error);
  return outcome instanceof DomainError ? outcome.kind : JSON.stringify(outcome);
}

describe('Authenticator', () => {
  it('returns the bootstrap admin for the bootstrap token', async () => {
    expect(await withToken(TOKEN)).toBe(BOOTSTRAP_ADMIN);
    expect(await authenticate(`bearer  ${TOKEN}`)).toEqual({
      tenantId: 'default',
      subject: 'admin',
      role: 'admin',
      rings: ['ring:default'],
      agents: [],
    });
  });

  it('returns the principal of an API key', async () => {
    const { token } = await apiKeys.create(OPERATOR, REQUEST);
    expect(await withToken(token)).toEqual(ALICE);
    expect(await authenticator.revalidate(`Bearer ${token}`)).toEqual(ALICE);
  });

  it('returns the bootstrap admin without a credential if authentication is off', async () => {
    authenticator = newAuthenticator({ auth: 'none' });
    expect(await authenticate(undefined)).toBe(BOOTSTRAP_ADMIN);
    expect(await withToken('whatever')).toBe(BOOTSTRAP_ADMIN);
    expect(await authenticator.revalidate(undefined)).toBe(BOOTSTRAP_ADMIN);
  });

  it.each([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    'Basic YTpi',
    `Bearer ${TOKEN}x`,
    `Bearer ${TOKEN} ${TOKEN}`,
    `Token ${TOKEN}`,
    `Bearer acta_${'x'.repeat(43)}`,
    `Bearer ${'x'.repeat(10_000)}`,
    'Bearer a.b.c',
    'Bearer \u0000',
  ])('rejects the Authorization header %j', async (authorization) => {
    expect(await kindOf(authenticate(authorization))).toBe('Unauthenticated');
    expect(await kindOf(authenticator.revalidate(authorization))).toBe('Unauthenticated');
  });

  it('verifies a key once for concurrent requests, and again after two seconds', async () => {
    const { token } = await apiKeys.create(OPERATOR, REQUEST);
    const before = database.statementCounts.statements;
    await Promise.all([withToken(token), withToken(token), withToken(token)]);
    now += 1_999;
    await withToken(token);
    expect(database.statementCounts.statements - before).toBe(1);
    now += 1;
    await withToken(token);
    expect(database.statementCounts.statements - before).toBe(2);
  });
});

describe('a key that is revoked or expires', () => {
  it('is rejected immediately in the process that revokes or rotates it', async () => {
    const { key, token } = await apiKeys.create(OPERATOR, REQUEST);
    await withToken(token);
    const rotated = await apiKeys.rotate(OPERATOR, key.keyId);
    expect(await kindOf(withToken(token))).toBe('Unauthenticated');
    expect(await withToken(rotated!.token)).toEqual(ALICE);
    await apiKeys.revoke(OPERATOR, key.keyId);
    expect(await kindOf(withToken(rotated!.token))).toBe('Unauthenticated');
    expect(await kindOf(authenticator.revalidate(`Bearer ${rotated!.token}`))).toBe('Unauthenticated');
  });

  it('is rejected within two seconds after a different process has revoked it', async () => {
    const { key, token } = await apiKeys.create(OPERATOR, REQUEST);
    await withToken(token);
    await otherProcessKeys.revoke(OPERATOR, key.keyId);
    now += 2_000;
    expect(await kindOf(withToken(token))).toBe('Unauthenticated');
  });

  it('is rejected from the time of its expiry, even if it is cached', async () => {
    const { token } = await apiKeys.create(OPERATOR, { ...REQUEST, expiresAt: new Date(now + 1_000) });
    now += 999;
    expect(await withToken(token)).toEqual(ALICE);
    now += 1;
    expect(await kindOf(withToken(token))).toBe('Unauthenticated');
  });

  it('is not cached by a verification that was running when it was revoked', async () => {
    const { key, token } = await apiKeys.create(OPERATOR, REQUEST);
    const find = apiKeys.find.bind(apiKeys);
    const lookup = new Subject<void>();
    const lookupDone = firstValueFrom(lookup);
    const revoked = new Subject<void>();
    const revokeDone = firstValueFrom(revoked);
    apiKeys.find = async (presented) => {
      const found = await find(presented);
      lookup.next();
      await revokeDone;
      return found;
    };
    const early = withToken(token);
    await lookupDone;
    await apiKeys.revoke(OPERATOR, key.keyId);
    apiKeys.find = find;
    revoked.next();
    await early;
    expect(await kindOf(withToken(token))).toBe('Unauthenticated');
  });
});

describe('failed authentications', () => {
  const unknown = `acta_${'x'.repeat(43)}`;
  const exhaust = async (address?: string) => {
    for (let attempt = 0; attempt < 50; attempt++)
      expect(await kindOf(withToken(unknown, address))).toBe('Unauthenticated');
  };

  it('are limited by address, with the time of the next attempt in the error', async () => {
    await exhaust();
    const statements = database.statementCounts.statements;
    await expect(withToken(unknown)).rejects.toMatchObject({ kind: 'RateLimited', details: { retryAfterSeconds: 1 } });
    expect(database.statementCounts.statements).toBe(statements);
    expect(await kindOf(withToken(unknown, '10.0.0.2'))).toBe('Unauthenticated');
    now += 1_000;
    expect(await kindOf(withToken(unknown))).toBe('Unauthenticated');
    expect(await kindOf(withToken(unknown))).toBe('RateLimited');
  });

  it('do not limit a client with a cached key, nor a bootstrap token that is too long to guess', async () => {
    const { token } = await apiKeys.create(OPERATOR, REQUEST);
    await withToken(token);
    await exhaust();
    now += 500;
    expect(await withToken(token)).toEqual(ALICE);
    expect(await withToken(TOKEN)).toBe(BOOTSTRAP_ADMIN);
  });

  it('do not count without a credential, or with a revoked key', async () => {
    const { key, token } = await apiKeys.create(OPERATOR, REQUEST);
    await apiKeys.revoke(OPERATOR, key.keyId);
    for (let count = 0; count < 60; count++) {
      expect(await kindOf(authenticate(undefined))).toBe('Unauthenticated');
      expect(await kindOf(withToken(token))).toBe('Unauthenticated');
    }
  });
});
