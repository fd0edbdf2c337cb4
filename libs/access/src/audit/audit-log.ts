import { createHash } from 'node:crypto';
import { type Actor, Clock, type JsonObject, newId } from '@app/domain';
import { Database, type Executor, type NamedStatement } from '@app/storage';
import { Injectable } from '@nestjs/common';

/** One fact about a tenant: a key was created or revoked, or an admin accessed a task of a different user. */
export interface AuditFact {
  readonly tenantId: string;
  /** In the past tense, such as `KeyCreated`. */
  readonly type: string;
  /** Never contains secrets or the content of messages. */
  readonly facts: JsonObject;
  readonly actor: Actor;
}

/** The columns of an entry that its hash covers, as stored. `recordedAt` is RFC 3339, UTC, with milliseconds. */
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

/** The append-only audit log of each tenant. Each entry has its own hash, so that concurrent entries do not wait for each other. */
@Injectable()
export class AuditLog {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock = new Clock(),
  ) {}

  /** Records a fact. Pass the `executor` of the transaction that causes the fact, so that both are committed together. */
  async record({ tenantId, type, facts, actor }: AuditFact, executor?: Executor): Promise<void> {
    const columns: HashedAuditColumns = {
      tenantId,
      entryId: newId(),
      type,
      facts: JSON.stringify(facts),
      actorSubject: actor.subject,
      actorRole: actor.role,
      recordedAt: this.clock.now().toISOString(),
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
 * Returns the SHA-256 of the stored bytes of every hashed column in the order of `HashedAuditColumns`, each with its length
 * (32 bits, big-endian) as prefix.
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
