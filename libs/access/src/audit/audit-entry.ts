import { createHash } from 'node:crypto';
import type { NamedStatement } from '@app/storage';

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

/** SQL expressions of the type text for the columns of a new entry, and one of the type integer for its epoch. */
type AuditColumnExpressions = Readonly<Record<keyof HashedAuditColumns | 'epoch', string>>;

/**
 * Returns an INSERT of audit entries, whose hashes Postgres computes. It can be a part of the statement that reads what the
 * entry records. `from` is the rest of its query, such as `from x`. The expressions can use its columns.
 */
export function insertAuditEntry(columns: AuditColumnExpressions, from = ''): string {
  const { tenantId, entryId, type, facts, actorSubject, actorRole, recordedAt, epoch } = columns;
  return `insert into audit_entry (tenant_id, entry_id, type, facts, actor_subject, actor_role, recorded_at, hash, epoch)
    select ${tenantId}, ${entryId}::uuid, ${type}, ${facts}::json, ${actorSubject}, ${actorRole},
      ${recordedAt}::timestamptz(3), audit_hash(p_columns => array[${tenantId}, ${entryId}, ${type}, ${facts},
        ${actorSubject}, ${actorRole}, ${recordedAt}]), ${epoch}
    ${from}`.trimEnd();
}

/** The parameters are the columns in the order of `HashedAuditColumns`, then the epoch. */
export const RECORD_ENTRY: NamedStatement = {
  name: 'record_audit_entry',
  text: insertAuditEntry({
    tenantId: '$1::text',
    entryId: '$2::text',
    type: '$3::text',
    facts: '$4::text',
    actorSubject: '$5::text',
    actorRole: '$6::text',
    recordedAt: '$7::text',
    epoch: '$8::integer',
  }),
};

/**
 * Returns the SHA-256 of the stored bytes of every hashed column in the order of `HashedAuditColumns`, each with its length
 * (32 bits, big-endian) as prefix. `audit_hash` in `migrations/functions` computes the same hash.
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
