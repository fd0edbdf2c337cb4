import { createHash } from 'node:crypto';
import { type Actor, type JsonObject, newId } from '@app/domain';
import type { Database, Executor, NamedStatement } from '@app/storage';

/** One fact about a tenant that belongs to no single task: a key made, a policy changed, another's task read. */
export interface AuditFact {
  readonly tenantId: string;
  /** In the past tense: `KeyCreated`. */
  readonly type: string;
  /** Never a secret, and nothing of what messages say. */
  readonly facts: JsonObject;
  readonly actor: Actor;
}

/** The columns of an entry that its hash covers, as stored. `recordedAt` is RFC 3339, UTC, milliseconds. */
export interface HashedAuditColumns {
  readonly tenantId: string;
  readonly entryId: string;
  readonly type: string;
  readonly facts: string;
  readonly actorSubject: string;
  readonly actorRole: string;
  readonly recordedAt: string;
}

const RECORD_ENTRY: NamedStatement = {
  name: 'record_audit_entry',
  text: `insert into audit_entry (tenant_id, entry_id, type, facts, actor_subject, actor_role, recorded_at, hash, epoch)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
};

/** The append-only audit log of each tenant. Entries are hashed one by one and wait for nothing. */
export class AuditLog {
  constructor(
    private readonly database: Database,
    private readonly now: () => number = Date.now,
  ) {}

  /** Give the `executor` of the transaction that does what is recorded, so that neither is there without the other. */
  async record({ tenantId, type, facts, actor }: AuditFact, executor?: Executor): Promise<void> {
    const columns: HashedAuditColumns = {
      tenantId,
      entryId: newId(),
      type,
      facts: JSON.stringify(facts),
      actorSubject: actor.subject,
      actorRole: actor.role,
      recordedAt: new Date(this.now()).toISOString(),
    };
    await this.database.run(
      RECORD_ENTRY,
      [
        columns.tenantId,
        columns.entryId,
        columns.type,
        columns.facts,
        columns.actorSubject,
        columns.actorRole,
        columns.recordedAt,
        auditHash(columns),
        this.database.epoch,
      ],
      executor,
    );
  }
}

/**
 * SHA-256 over the stored bytes of every hashed column in the order of `HashedAuditColumns`, each after its length
 * (32 bits, big-endian).
 */
export function auditHash(columns: HashedAuditColumns): Buffer {
  const hash = createHash('sha256');
  const { tenantId, entryId, type, facts, actorSubject, actorRole, recordedAt } = columns;
  for (const column of [tenantId, entryId, type, facts, actorSubject, actorRole, recordedAt]) {
    const length = Buffer.allocUnsafe(4);
    length.writeUInt32BE(Buffer.byteLength(column));
    hash.update(length).update(column);
  }
  return hash.digest();
}
