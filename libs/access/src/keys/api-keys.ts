import { hash, randomBytes } from 'node:crypto';
import {
  Clock,
  DomainError,
  type FieldViolation,
  invalidField,
  invalidParameters,
  isUuid,
  type JsonObject,
  newId,
  type Principal,
} from '@app/domain';
import { Database, type Executor } from '@app/storage';
import { Injectable } from '@nestjs/common';
import { type Observable, Subject } from 'rxjs';
import {
  type ApiKeyRow,
  ANY_KEY,
  FIND_KEY,
  INSERT_KEY,
  LIST_KEYS,
  LOCK_KEY,
  REVOKE_KEY,
  ROTATE_KEY,
} from './api-keys.statements.js';
import { AuditLog } from '../audit/audit-log.js';
import { isName, isNameList, isSubject, NAME_LIST_RULE, NAME_RULE, SUBJECT_RULE } from './names.js';

export type ApiKeyRole = 'member' | 'admin' | 'worker' | 'metrics';

/** The tenant of the people who run the server. The metrics, which cover all tenants, belong to it. */
export const OPERATING_TENANT = 'default';

/** An API key. Its token is not stored, only a hash of it. */
export interface ApiKey {
  readonly keyId: string;
  readonly tenantId: string;
  readonly subject: string;
  readonly role: ApiKeyRole;
  readonly rings: readonly string[];
  readonly agents: readonly string[];
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

export interface ApiKeyRequest {
  readonly tenantId: string;
  readonly subject: string;
  readonly role: ApiKeyRole;
  /** The first is the ring of new tasks. */
  readonly rings: readonly string[];
  /** The agents that a worker may run; empty for other roles. */
  readonly agents?: readonly string[];
  readonly expiresAt?: Date | null;
}

/** A new key with its token, which is returned only once. */
export interface IssuedApiKey {
  readonly key: ApiKey;
  readonly token: string;
}

const TOKEN = /^acta_[\w-]{43}$/;

/**
 * The API keys of all tenants. An admin manages the keys of its own tenant, and an operator manages all keys. For an admin, a key
 * of a different tenant does not exist. The transaction of a change also records it in the audit log of the key's tenant.
 */
@Injectable()
export class ApiKeys {
  private readonly revocations = new Subject<string>();
  /** Hashes (base64) of tokens that this process has revoked or replaced. */
  readonly revokedTokens: Observable<string> = this.revocations.asObservable();

  constructor(
    private readonly database: Database,
    private readonly audit: AuditLog,
    private readonly clock: Clock = new Clock(),
  ) {}

  /** @throws DomainError Forbidden for a different tenant, InvalidParameters with every invalid field */
  async create(principal: Principal, request: ApiKeyRequest): Promise<IssuedApiKey> {
    const ownTenant = tenantOf(principal);
    if (ownTenant !== null && request.tenantId !== ownTenant) {
      throw new DomainError(
        'Forbidden',
        `tenant: ${JSON.stringify(request.tenantId)} is not the tenant of the credential; create keys for your own tenant only`,
        {},
      );
    }
    const violations = violationsOf(request, this.clock.now());
    if (violations.length > 0) throw invalidParameters(...violations);
    const { tenantId, subject, role, expiresAt = null } = request;
    const rings = [...new Set(request.rings)];
    const agents = [...new Set(request.agents)];
    const token = newToken();
    return this.database.transaction(async (executor) => {
      const values = [tenantId, newId(), hashToken(token), subject, role, rings, agents, this.clock.now(), expiresAt];
      const [row] = await this.database.run<ApiKeyRow>(INSERT_KEY, values, executor);
      const key = keyOf(row!);
      const granted = { subject, role, rings, agents, expiresAt: key.expiresAt?.toISOString() ?? null };
      await this.record(principal, key, 'KeyCreated', executor, granted);
      return { key, token };
    });
  }

  /** Returns keys in the order of their creation, including revoked ones. An operator gets the keys of one tenant, or of all. */
  async list(principal: Principal, tenantId: string | null = null): Promise<ApiKey[]> {
    const rows = await this.database.run<ApiKeyRow>(LIST_KEYS, [tenantOf(principal) ?? tenantId]);
    return rows.map(keyOf);
  }

  /**
   * Replaces the token of a key, and revokes the previous token. For a change without interruption, create a second key instead.
   * Returns null if the key does not exist.
   */
  async rotate(principal: Principal, keyId: string): Promise<IssuedApiKey | null> {
    return this.change(principal, keyId, async (before, executor) => {
      if (before.revoked_at !== null || isExpired(before.expires_at, this.clock.now())) {
        throw invalidField('id', 'the key is revoked or expired; create a new one');
      }
      const token = newToken();
      const values = [before.tenant_id, before.key_id, hashToken(token)];
      const [row] = await this.database.run<ApiKeyRow>(ROTATE_KEY, values, executor);
      await this.record(principal, keyOf(row!), 'KeyRotated', executor);
      return { key: keyOf(row!), token };
    });
  }

  /** Revokes a key, and returns it. A revoked key stays unchanged. Returns null if the key does not exist. */
  async revoke(principal: Principal, keyId: string): Promise<ApiKey | null> {
    return this.change(principal, keyId, async (before, executor) => {
      if (before.revoked_at !== null) return keyOf(before);
      const values = [before.tenant_id, before.key_id, this.clock.now()];
      const [row] = await this.database.run<ApiKeyRow>(REVOKE_KEY, values, executor);
      await this.record(principal, keyOf(row!), 'KeyRevoked', executor);
      return keyOf(row!);
    });
  }

  /** Returns the key of a token, which may be expired or revoked, or null if no key has that token. */
  async find(token: string): Promise<ApiKey | null> {
    if (!TOKEN.test(token)) return null;
    const [row] = await this.database.run<ApiKeyRow>(FIND_KEY, [hashToken(token)]);
    return row === undefined ? null : keyOf(row);
  }

  private async change<T>(
    principal: Principal,
    keyId: string,
    update: (before: ApiKeyRow, executor: Executor) => Promise<T>,
  ): Promise<T | null> {
    const tenantId = tenantOf(principal);
    if (!isUuid(keyId)) return null;
    const changed = await this.database.transaction(async (executor) => {
      const [before] = await this.database.run<ApiKeyRow>(LOCK_KEY, [tenantId, keyId], executor);
      return before === undefined ? null : { before, result: await update(before, executor) };
    });
    if (changed === null) return null;
    this.revocations.next(changed.before.token_hash.toString('base64'));
    return changed.result;
  }

  /** Returns whether there is a key that was not revoked. */
  async exist(): Promise<boolean> {
    return (await this.database.run(ANY_KEY, [])).length > 0;
  }

  private record(principal: Principal, key: ApiKey, type: string, executor: Executor, granted: JsonObject = {}) {
    const { subject, role } = principal;
    return this.audit.record(
      { tenantId: key.tenantId, type, facts: { keyId: key.keyId, ...granted }, actor: { subject, role } },
      executor,
    );
  }
}

/** Returns the hash by which a token is stored and looked up. */
export const hashToken = (token: string): Buffer => hash('sha256', token, 'buffer');

export const isExpired = (instant: Date | null, now: Date): boolean => instant !== null && instant <= now;

const newToken = (): string => `acta_${randomBytes(32).toString('base64url')}`;

/** Returns the only tenant whose keys a caller may manage, or null for an operator. */
function tenantOf({ role, tenantId }: Principal): string | null {
  if (role === 'operator') return null;
  if (role === 'admin') return tenantId;
  throw new DomainError(
    'Forbidden',
    `the role ${role} cannot manage API keys; use the credential of a tenant admin`,
    {},
  );
}

function violationsOf(request: ApiKeyRequest, now: Date): FieldViolation[] {
  const { tenantId, subject, role, rings, agents = [], expiresAt = null } = request;
  const checks: [violated: boolean, field: string, description: string][] = [
    [!isName(tenantId), 'tenant', `must be ${NAME_RULE}`],
    [!isSubject(subject), 'subject', `must be ${SUBJECT_RULE}`],
    [!isNameList(rings), 'rings', `must be ${NAME_LIST_RULE}`],
    [needsRing(role) && rings.length === 0, 'rings', `a key with the role ${role} requires at least one ring`],
    [!isNameList(agents), 'agents', `must be ${NAME_LIST_RULE}`],
    [role === 'worker' && agents.length === 0, 'agents', 'a key with the role worker requires at least one agent'],
    [role !== 'worker' && agents.length > 0, 'agents', 'only a key with the role worker can have agents'],
    [role === 'metrics' && rings.length > 0, 'rings', 'a key with the role metrics has no rings'],
    [
      role === 'metrics' && tenantId !== OPERATING_TENANT,
      'tenant',
      `a key with the role metrics belongs to the tenant "${OPERATING_TENANT}", because the metrics cover all tenants`,
    ],
    [expiresAt !== null && !(expiresAt > now), 'expiresAt', 'must be in the future'],
  ];
  return checks.flatMap(([violated, field, description]) => (violated ? [{ field, description }] : []));
}

const needsRing = (role: ApiKeyRole) => role === 'member' || role === 'worker';

function keyOf(row: ApiKeyRow): ApiKey {
  return {
    keyId: row.key_id,
    tenantId: row.tenant_id,
    subject: row.subject,
    role: row.role,
    rings: row.rings,
    agents: row.agents,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  };
}
