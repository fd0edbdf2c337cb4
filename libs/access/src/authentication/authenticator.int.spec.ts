import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DomainError, type Principal } from '@app/domain';
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
let here: ApiKeys;
let elsewhere: ApiKeys;
let authenticator: Authenticator;

const newKeys = () => new ApiKeys(database, new AuditLog(database), () => now);
const newAuthenticator = (change: { auth?: 'none'; token?: string } = {}) =>
  new Authenticator({ auth: 'required', token: TOKEN, oidc: null, apiKeys: here, now: () => now, ...change });

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
  here = newKeys();
  elsewhere = newKeys();
  authenticator = newAuthenticator();
});

const attempt = (authorization: string | undefined, remoteAddress = '10.0.0.1') =>
  authenticator.authenticate({ authorization, remoteAddress });
const withToken = (token: string, remoteAddress?: string) => attempt(`Bearer ${token}`, remoteAddress);

async function kindOf(work: Promise<unknown>): Promise<string> {
  const outcome = await work.catch((error: unknown) => error);
  return outcome instanceof DomainError ? outcome.kind : JSON.stringify(outcome);
}

describe('a credential', () => {
  it('is the bootstrap token, for the bootstrap admin', async () => {
    expect(await withToken(TOKEN)).toBe(BOOTSTRAP_ADMIN);
    expect(await attempt(`bearer  ${TOKEN}`)).toEqual({
      tenantId: 'default',
      subject: 'admin',
      role: 'admin',
      rings: ['ring:default'],
      agents: [],
    });
  });

  it('is an API key, for the principal that it was made for', async () => {
    const { token } = await here.create(OPERATOR, REQUEST);
    expect(await withToken(token)).toEqual(ALICE);
    expect(await authenticator.revalidate(`Bearer ${token}`)).toEqual(ALICE);
  });

  it('is not needed with authentication off', async () => {
    authenticator = newAuthenticator({ auth: 'none' });
    expect(await attempt(undefined)).toBe(BOOTSTRAP_ADMIN);
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
  ])('is refused when it is %j', async (authorization) => {
    expect(await kindOf(attempt(authorization))).toBe('Unauthenticated');
    expect(await kindOf(authenticator.revalidate(authorization))).toBe('Unauthenticated');
  });

  it('is looked up once for requests that come together, and then trusted for two seconds', async () => {
    const { token } = await here.create(OPERATOR, REQUEST);
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

describe('a key that ends', () => {
  it('stops at once in the process that revokes or rotates it', async () => {
    const { key, token } = await here.create(OPERATOR, REQUEST);
    await withToken(token);
    const rotated = await here.rotate(OPERATOR, key.keyId);
    expect(await kindOf(withToken(token))).toBe('Unauthenticated');
    expect(await withToken(rotated!.token)).toEqual(ALICE);
    await here.revoke(OPERATOR, key.keyId);
    expect(await kindOf(withToken(rotated!.token))).toBe('Unauthenticated');
    expect(await kindOf(authenticator.revalidate(`Bearer ${rotated!.token}`))).toBe('Unauthenticated');
  });

  it('stops within two seconds when another process revokes it', async () => {
    const { key, token } = await here.create(OPERATOR, REQUEST);
    await withToken(token);
    await elsewhere.revoke(OPERATOR, key.keyId);
    now += 2_000;
    expect(await kindOf(withToken(token))).toBe('Unauthenticated');
  });

  it('stops at the instant of its expiry, trusted or not', async () => {
    const { token } = await here.create(OPERATOR, { ...REQUEST, expiresAt: new Date(now + 1_000) });
    now += 999;
    expect(await withToken(token)).toEqual(ALICE);
    now += 1;
    expect(await kindOf(withToken(token))).toBe('Unauthenticated');
  });

  it('is not remembered by a look-up that was on its way when it was revoked', async () => {
    const { key, token } = await here.create(OPERATOR, REQUEST);
    const find = here.find.bind(here);
    const looked = new Subject<void>();
    const wasLooked = firstValueFrom(looked);
    const revoked = new Subject<void>();
    const wasRevoked = firstValueFrom(revoked);
    here.find = async (asked) => {
      const found = await find(asked);
      looked.next();
      await wasRevoked;
      return found;
    };
    const early = withToken(token);
    await wasLooked;
    await here.revoke(OPERATOR, key.keyId);
    here.find = find;
    revoked.next();
    await early;
    expect(await kindOf(withToken(token))).toBe('Unauthenticated');
  });
});

describe('failed attempts', () => {
  const wrong = `acta_${'x'.repeat(43)}`;
  const exhaust = async (address?: string) => {
    for (let at = 0; at < 50; at++) expect(await kindOf(withToken(wrong, address))).toBe('Unauthenticated');
  };

  it('are limited by address, and say when to try again', async () => {
    await exhaust();
    const statements = database.statementCounts.statements;
    await expect(withToken(wrong)).rejects.toMatchObject({ kind: 'RateLimited', details: { retryAfterSeconds: 1 } });
    expect(database.statementCounts.statements).toBe(statements);
    expect(await kindOf(withToken(wrong, '10.0.0.2'))).toBe('Unauthenticated');
    now += 1_000;
    expect(await kindOf(withToken(wrong))).toBe('Unauthenticated');
    expect(await kindOf(withToken(wrong))).toBe('RateLimited');
  });

  it('do not shut out a client that was let in before, nor the holder of a long token', async () => {
    const { token } = await here.create(OPERATOR, REQUEST);
    await withToken(token);
    await exhaust();
    now += 500;
    expect(await withToken(token)).toEqual(ALICE);
    expect(await withToken(TOKEN)).toBe(BOOTSTRAP_ADMIN);
  });

  it('hide a token that is short enough to be guessed', async () => {
    authenticator = newAuthenticator({ token: 'guessable' });
    expect(await withToken('guessable')).toBe(BOOTSTRAP_ADMIN);
    await exhaust();
    expect(await kindOf(withToken('guessable'))).toBe('RateLimited');
  });

  it('are not those of a client that sends nothing, or what was good once', async () => {
    const { key, token } = await here.create(OPERATOR, REQUEST);
    await here.revoke(OPERATOR, key.keyId);
    for (let at = 0; at < 60; at++) {
      expect(await kindOf(attempt(undefined))).toBe('Unauthenticated');
      expect(await kindOf(withToken(token))).toBe('Unauthenticated');
    }
  });
});
