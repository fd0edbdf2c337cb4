import {
  type Actor,
  BOUNDS,
  Clock,
  DomainError,
  invalidField,
  isUuid,
  type JsonObject,
  newId,
  type Principal,
} from '@app/domain';
import { Database, type Executor } from '@app/storage';
import { Injectable } from '@nestjs/common';
import { auditHash, RECORD_ENTRY } from './audit-entry.js';
import { type AuditFilter, type AuditRow, pageOfEntries } from './audit-page.statement.js';

/** One fact about a tenant, such as the creation of a key. */
export interface AuditFact {
  readonly tenantId: string;
  /** In the past tense, such as `KeyCreated`. */
  readonly type: string;
  /** Never contains secrets or the content of messages. */
  readonly facts: JsonObject;
  readonly actor: Actor;
}

/** An entry of the audit log. */
export interface AuditEntry {
  readonly entryId: string;
  readonly type: string;
  readonly facts: JsonObject;
  readonly actor: Actor;
  /** RFC 3339, UTC, milliseconds; server time. */
  readonly recordedAt: string;
  /** SHA-256 of the entry, in hex. */
  readonly hash: string;
  /** Present if the entry does not match its hash: it was changed after it was recorded. */
  readonly altered?: true;
}

/** The filters and the size of a page. */
export interface AuditPageRequest extends AuditFilter {
  /** The id of the last entry that the caller has. Absent: from the newest entry. */
  readonly after?: string;
  /** 1 to 1000. */
  readonly limit: number;
}

export interface AuditPage {
  readonly items: readonly AuditEntry[];
  /** The `after` of the next page. Null on the last page. */
  readonly nextAfter: string | null;
}

/** The append-only audit log of each tenant. Each entry has its own hash, so that concurrent entries do not wait for each other. */
@Injectable()
export class AuditLog {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock = new Clock(),
  ) {}

  /** Creates a log outside of Nest. */
  static over(database: Database): AuditLog {
    return new AuditLog(database, new Clock());
  }

  /** Records a fact. Pass the `executor` of the transaction that causes the fact, so that both are committed together. */
  async record({ tenantId, type, facts, actor }: AuditFact, executor?: Executor): Promise<void> {
    const { subject, role } = actor;
    const columns = [tenantId, newId(), type, JSON.stringify(facts), subject, role, this.clock.now().toISOString()];
    await this.database.run(RECORD_ENTRY, [...columns, this.database.epoch], executor);
  }

  /**
   * Returns one page of the entries of the caller's tenant, newest first. A page has at most 4 MiB of JSON, but at least one
   * entry if any is left. Errors: Forbidden for a caller that is neither an admin nor an operator; InvalidParameters if
   * `after` is not an entry.
   */
  async list(principal: Principal, { after, limit, ...filter }: AuditPageRequest): Promise<AuditPage> {
    const { tenantId, role } = principal;
    if (role !== 'admin' && role !== 'operator') {
      throw new DomainError(
        'Forbidden',
        `the role ${role} cannot read the audit log; use the credential of a tenant admin`,
        {},
      );
    }
    if (after !== undefined && !isUuid(after)) throw noSuchEntry(after);
    const { kysely } = this.database;
    const bounds = { limit: limit + 1, bytes: BOUNDS.pageBytes };
    const { rows } = await pageOfEntries(tenantId, filter, { after, ...bounds }).execute(kysely);
    if (rows.length === 0 && after !== undefined && !(await this.exists(tenantId, after))) throw noSuchEntry(after);
    const items = rows.filter(({ fits }) => fits).slice(0, limit);
    const nextAfter = rows.length > items.length ? items.at(-1)!.entry_id : null;
    return { items: items.map((row) => entryOf(tenantId, row)), nextAfter };
  }

  private async exists(tenantId: string, entryId: string): Promise<boolean> {
    const entry = this.database.kysely.selectFrom('audit_entry').where('tenant_id', '=', tenantId);
    return (await entry.where('entry_id', '=', entryId).select('entry_id').execute()).length > 0;
  }
}

function entryOf(tenantId: string, row: AuditRow): AuditEntry {
  const { entry_id: entryId, type, facts, actor_subject: actorSubject, actor_role: actorRole, hash } = row;
  const recordedAt = row.recorded_at.toISOString();
  const expected = auditHash({ tenantId, entryId, type, facts, actorSubject, actorRole, recordedAt });
  return {
    entryId,
    type,
    facts: JSON.parse(facts) as JsonObject,
    actor: { subject: actorSubject, role: actorRole as Actor['role'] },
    recordedAt,
    hash: hash.toString('hex'),
    ...(hash.equals(expected) ? {} : { altered: true as const }),
  };
}

const noSuchEntry = (after: string) =>
  invalidField(
    'after',
    `${JSON.stringify(after)} is not an entry of the audit log; pass the nextAfter of the previous page`,
  );
