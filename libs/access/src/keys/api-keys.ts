import { hash, randomBytes } from 'node:crypto';
import {
  DomainError,
  type FieldViolation,
  invalidField,
  invalidParameters,
  type JsonObject,
  newId,
  type Principal,
} from '@app/domain';
import type { Database, Executor } from '@app/storage';
import { type Observable, Subject } from 'rxjs';
import {
  type ApiKeyRow,
  FIND_KEY,
  INSERT_KEY,
  LIST_KEYS,
  LOCK_KEY,
  REVOKE_KEY,
  ROTATE_KEY,
} from './api-keys.statements.js';
import type { AuditLog } from '../audit/audit-log.js';
import { isName, isNameList, isSubject, NAME_LIST_RULE, NAME_RULE, SUBJECT_RULE } from './names.js';

export type ApiKeyRole = 'member' | 'admin' | 'worker';

/** What is known of a key. Its token is known to whoever was shown it, and to nobody else. */
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
  /** In order: the first is the ring of new tasks. */
  readonly rings: readonly string[];
  /** What a worker may run; nobody else has any. */
  readonly agents?: readonly string[];
  readonly expiresAt?: Date | null;
}

/** A key with its token, which is shown this once. */
export interface IssuedApiKey {
  readonly key: ApiKey;
  readonly token: string;
}

const TOKEN = /^acta_[\w-]{43}$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The API keys of every tenant. An admin has those of its own tenant; an operator, who has the database anyway, has all.
 * Another tenant's key is as good as missing. Every change is in the audit log of the key's tenant, by the same transaction.
 */
export class ApiKeys {
  private readonly withdrawals = new Subject<string>();
  /** Digests of tokens that this process has just made worthless. */
  readonly revokedTokens: Observable<string> = this.withdrawals.asObservable();

  constructor(
    private readonly database: Database,
    private readonly audit: AuditLog,
    private readonly now: () => number = Date.now,
  ) {}

  /** @throws DomainError Forbidden for a tenant that is not the caller's, InvalidParameters with every wrong field */
  async create(principal: Principal, request: ApiKeyRequest): Promise<IssuedApiKey> {
    const ownTenant = tenantOf(principal);
    if (ownTenant !== null && request.tenantId !== ownTenant) {
      throw new DomainError('Forbidden', 'keys can be made for your own tenant only', {});
    }
    const violations = violationsOf(request, this.now());
    if (violations.length > 0) throw invalidParameters(...violations);
    const { tenantId, subject, role, expiresAt = null } = request;
    const rings = [...new Set(request.rings)];
    const agents = [...new Set(request.agents)];
    const token = newToken();
    return this.database.transaction(async (executor) => {
      const values = [
        tenantId,
        newId(),
        hashToken(token),
        subject,
        role,
        rings,
        agents,
        new Date(this.now()),
        expiresAt,
      ];
      const [row] = await this.database.run<ApiKeyRow>(INSERT_KEY, values, executor);
      const key = keyOf(row!);
      const granted = { subject, role, rings, agents, expiresAt: key.expiresAt?.toISOString() ?? null };
      await this.record(principal, key, 'KeyCreated', executor, granted);
      return { key, token };
    });
  }

  /** Keys in the order of their making, with the revoked ones. An operator sees those of one tenant, or all. */
  async list(principal: Principal, tenantId: string | null = null): Promise<ApiKey[]> {
    const rows = await this.database.run<ApiKeyRow>(LIST_KEYS, [tenantOf(principal) ?? tenantId]);
    return rows.map(keyOf);
  }

  /**
   * Gives a key another token; the one before stops working. (For a change without interruption, make a second key first.)
   * Null when there is no such key.
   */
  async rotate(principal: Principal, keyId: string): Promise<IssuedApiKey | null> {
    return this.change(principal, keyId, async (before, executor) => {
      if (before.revoked_at !== null || isExpired(before.expires_at, this.now())) {
        throw invalidField('id', 'the key is revoked or expired: make another one');
      }
      const token = newToken();
      const values = [before.tenant_id, before.key_id, hashToken(token)];
      const [row] = await this.database.run<ApiKeyRow>(ROTATE_KEY, values, executor);
      await this.record(principal, keyOf(row!), 'KeyRotated', executor);
      return { key: keyOf(row!), token };
    });
  }

  /** Gives the key as it is afterwards, also when it was revoked before. Null when there is no such key. */
  async revoke(principal: Principal, keyId: string): Promise<ApiKey | null> {
    return this.change(principal, keyId, async (before, executor) => {
      if (before.revoked_at !== null) return keyOf(before);
      const values = [before.tenant_id, before.key_id, new Date(this.now())];
      const [row] = await this.database.run<ApiKeyRow>(REVOKE_KEY, values, executor);
      await this.record(principal, keyOf(row!), 'KeyRevoked', executor);
      return keyOf(row!);
    });
  }

  /** The key of a token as it stands now, good or not. Null when no key has that token. */
  async find(token: string): Promise<ApiKey | null> {
    if (!TOKEN.test(token)) return null;
    const [row] = await this.database.run<ApiKeyRow>(FIND_KEY, [hashToken(token)]);
    return row === undefined ? null : keyOf(row);
  }

  private async change<T>(
    principal: Principal,
    keyId: string,
    work: (before: ApiKeyRow, executor: Executor) => Promise<T>,
  ): Promise<T | null> {
    const tenantId = tenantOf(principal);
    if (!UUID.test(keyId)) return null;
    const done = await this.database.transaction(async (executor) => {
      const [before] = await this.database.run<ApiKeyRow>(LOCK_KEY, [tenantId, keyId], executor);
      return before === undefined ? null : { before, result: await work(before, executor) };
    });
    if (done === null) return null;
    this.withdrawals.next(done.before.token_hash.toString('base64'));
    return done.result;
  }

  private record(principal: Principal, key: ApiKey, type: string, executor: Executor, granted: JsonObject = {}) {
    const { subject, role } = principal;
    return this.audit.record(
      { tenantId: key.tenantId, type, facts: { keyId: key.keyId, ...granted }, actor: { subject, role } },
      executor,
    );
  }
}

/** How tokens are stored and looked up. */
export const hashToken = (token: string): Buffer => hash('sha256', token, 'buffer');

export const isExpired = (instant: Date | null, now: number): boolean => instant !== null && instant.getTime() <= now;

const newToken = (): string => `acta_${randomBytes(32).toString('base64url')}`;

/** The only tenant whose keys a caller has to do with; null for an operator. */
function tenantOf({ role, tenantId }: Principal): string | null {
  if (role === 'operator') return null;
  if (role === 'admin') return tenantId;
  throw new DomainError('Forbidden', 'API keys are the business of tenant admins', {});
}

function violationsOf(request: ApiKeyRequest, now: number): FieldViolation[] {
  const { tenantId, subject, role, rings, agents = [], expiresAt = null } = request;
  const checks: [broken: boolean, field: string, description: string][] = [
    [!isName(tenantId), 'tenant', `must be ${NAME_RULE}`],
    [!isSubject(subject), 'subject', `must be ${SUBJECT_RULE}`],
    [!isNameList(rings), 'rings', `must be ${NAME_LIST_RULE}`],
    [role !== 'admin' && rings.length === 0, 'rings', `a ${role} needs at least one ring`],
    [!isNameList(agents), 'agents', `must be ${NAME_LIST_RULE}`],
    [role === 'worker' && agents.length === 0, 'agents', 'a worker needs at least one agent'],
    [role !== 'worker' && agents.length > 0, 'agents', 'only a worker has agents'],
    [expiresAt !== null && !(expiresAt.getTime() > now), 'expiresAt', 'must be a time to come'],
  ];
  return checks.flatMap(([broken, field, description]) => (broken ? [{ field, description }] : []));
}

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
