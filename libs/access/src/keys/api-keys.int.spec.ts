import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DomainError, type Principal } from '@app/domain';
import { Database, ServerSecret, SQL_STATE } from '@app/storage';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database/test-database.js';
import { ApiKeys, type ApiKeyRequest } from './api-keys.js';
import { auditHash } from '../audit/audit-entry.js';
import { AuditLog } from '../audit/audit-log.js';

let testDatabase: TestDatabase;
let database: Database;
let keys: ApiKeys;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = new Database(testDatabase.url);
  await database.initializeServerState(new ServerSecret('secret of the key tests'));
  keys = new ApiKeys(database, new AuditLog(database));
});
afterAll(async () => {
  await database?.close();
  await testDatabase?.drop();
});

const admin = (tenantId: string): Principal => ({ tenantId, subject: 'root', role: 'admin', rings: [], agents: [] });
const OPERATOR: Principal = { tenantId: 'default', subject: 'ops', role: 'operator', rings: [], agents: [] };
const ofAlice = (tenantId: string): ApiKeyRequest => ({
  tenantId,
  subject: 'alice',
  role: 'member',
  rings: ['ring:b', 'ring:a', 'ring:b'],
});

async function auditOf(tenantId: string) {
  const { rows } = await database.pool.query<{
    entry_id: string;
    type: string;
    facts: string;
    actor_subject: string;
    actor_role: string;
    recorded_at: Date;
    hash: Buffer;
  }>(
    `select entry_id, type, facts::text as facts, actor_subject, actor_role, recorded_at, hash from audit_entry
     where tenant_id = $1 order by epoch, transaction_id, position`,
    [tenantId],
  );
  return rows;
}

async function kindOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return error instanceof DomainError ? error.kind : String(error);
}

describe('ApiKeys', () => {
  it('stores a key with its rings in order and without its token', async () => {
    const { key, token } = await keys.create(admin('t1'), ofAlice('t1'));
    expect(token).toMatch(/^acta_[\w-]{43}$/);
    expect(key).toMatchObject({ subject: 'alice', role: 'member', rings: ['ring:b', 'ring:a'], revokedAt: null });
    const { rows } = await database.pool.query<{ row: string }>('select row_to_json(k)::text as row from api_key k');
    expect(rows.map(({ row }) => row).join()).not.toContain(token.slice(5));
    expect(await keys.find(token)).toEqual(key);
    expect(await keys.find(`acta_${'x'.repeat(43)}`)).toBeNull();
  });

  it('replaces the token of a rotated key, and returns a revoked key unchanged', async () => {
    const { key, token } = await keys.create(admin('t2'), ofAlice('t2'));
    const rotated = await keys.rotate(admin('t2'), key.keyId);
    expect(rotated?.key).toEqual(key);
    expect(await keys.find(token)).toBeNull();
    const revoked = await keys.revoke(admin('t2'), key.keyId);
    expect(revoked?.revokedAt).toBeInstanceOf(Date);
    expect(await keys.revoke(admin('t2'), key.keyId)).toEqual(revoked);
    expect(await kindOf(keys.rotate(admin('t2'), key.keyId))).toBe('InvalidParameters');
    expect(await keys.list(admin('t2'))).toEqual([revoked]);
  });

  it('records each change once in the audit log of the tenant, with a hash of the stored bytes', async () => {
    const { key, token } = await keys.create(admin('t3'), ofAlice('t3'));
    await keys.rotate(OPERATOR, key.keyId);
    await keys.revoke(admin('t3'), key.keyId);
    await keys.revoke(admin('t3'), key.keyId);
    const entries = await auditOf('t3');
    expect(entries.map((entry) => [entry.type, entry.actor_subject, entry.actor_role])).toEqual([
      ['KeyCreated', 'root', 'admin'],
      ['KeyRotated', 'ops', 'operator'],
      ['KeyRevoked', 'root', 'admin'],
    ]);
    for (const entry of entries) {
      expect(JSON.parse(entry.facts)).toMatchObject({ keyId: key.keyId });
      expect(entry.facts).not.toContain(token.slice(5));
      const columns = {
        tenantId: 't3',
        entryId: entry.entry_id,
        type: entry.type,
        facts: entry.facts,
        actorSubject: entry.actor_subject,
        actorRole: entry.actor_role,
        recordedAt: entry.recorded_at.toISOString(),
      };
      expect(entry.hash).toEqual(auditHash(columns));
    }
  });

  // F31: for an admin, a key of a different tenant does not exist.
  it('returns keys of a different tenant to an operator, but not to an admin', async () => {
    const { key } = await keys.create(admin('t4'), ofAlice('t4'));
    const missing = '00000000-0000-4000-8000-000000000000';
    for (const id of [key.keyId, missing, 'no uuid']) {
      expect(await keys.revoke(admin('t5'), id)).toBeNull();
      expect(await keys.rotate(admin('t5'), id)).toBeNull();
    }
    expect(await keys.list(admin('t5'))).toEqual([]);
    expect(await keys.list(admin('t5'), 't4')).toEqual([]);
    expect(await keys.list(OPERATOR, 't4')).toEqual([key]);
    expect((await keys.list(OPERATOR)).map(({ keyId }) => keyId)).toContain(key.keyId);
    expect(await auditOf('t5')).toEqual([]);
  });

  it('lets an admin create keys for its own tenant only, and rejects members and workers', async () => {
    expect(await kindOf(keys.create(admin('t6'), ofAlice('t7')))).toBe('Forbidden');
    for (const role of ['member', 'worker'] as const) {
      const caller = { ...admin('t6'), role };
      expect(await kindOf(keys.create(caller, ofAlice('t6')))).toBe('Forbidden');
      expect(await kindOf(keys.list(caller))).toBe('Forbidden');
      expect(await kindOf(keys.revoke(caller, 'x'))).toBe('Forbidden');
    }
    expect(await keys.list(OPERATOR, 't6')).toEqual([]);
  });

  it.each<[string, Partial<ApiKeyRequest>]>([
    ['tenant', { tenantId: 'a b' }],
    ['subject', { subject: '' }],
    ['subject', { subject: 'x\u0000' }],
    ['subject', { subject: 'x'.repeat(257) }],
    ['rings', { rings: [] }],
    ['rings', { rings: ['ring:a,ring:b'] }],
    ['rings', { rings: ['\ud800'] }],
    ['rings', { rings: Array.from({ length: 101 }, (_, index) => `ring:${index}`) }],
    ['agents', { agents: ['demo'] }],
    ['agents', { role: 'worker' }],
    ['expiresAt', { expiresAt: new Date(0) }],
    ['expiresAt', { expiresAt: new Date(NaN) }],
  ])('rejects an invalid %s and names the field (%j)', async (field, change) => {
    const error: unknown = await keys.create(OPERATOR, { ...ofAlice('t8'), ...change }).catch((e: unknown) => e);
    expect(error).toMatchObject({ kind: 'InvalidParameters', details: { violations: [{ field }] } });
  });
});

describe('AuditLog', () => {
  it.each([
    'update audit_entry set type = type',
    'delete from audit_entry',
    'truncate audit_entry',
    "delete from audit_entry where tenant_id = 'nobody'",
  ])('rejects the statement: %s', async (statement) => {
    await expect(testDatabase.asOwner(statement)).rejects.toMatchObject({ code: SQL_STATE.appendOnly });
  });

  it('has no entry for a change that was rolled back', async () => {
    const auditLog = new AuditLog(database);
    const fact = { tenantId: 't9', type: 'PolicyChanged', facts: {}, actor: { subject: 'x', role: 'admin' } } as const;
    await expect(
      database.transaction(async (executor) => {
        await auditLog.record(fact, executor);
        throw new Error('rolled back');
      }),
    ).rejects.toThrow('rolled back');
    expect(await auditOf('t9')).toEqual([]);
  });
});
