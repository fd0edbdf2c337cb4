import { createHash } from 'node:crypto';

/** The columns of an event that its hash covers, as stored. `recordedAt` is RFC 3339, UTC, milliseconds. */
export interface HashedColumns {
  readonly tenantId: string;
  readonly taskId: string;
  readonly version: number;
  readonly eventId: string;
  readonly type: string;
  readonly schemaVersion: number;
  readonly facts: string;
  readonly content: Buffer | null;
  readonly actorSubject: string;
  readonly actorRole: string;
  readonly commandId: string;
  readonly commandFingerprint: Buffer;
  readonly causationId: string | null;
  readonly correlationId: string;
  readonly protocolVersion: string | null;
  readonly traceParent: string | null;
  readonly recordedAt: string;
}

/** What the first event of a stream follows. */
export const GENESIS_HASH = Buffer.alloc(32);

const NULL = Buffer.from([0xff, 0xff, 0xff, 0xff]);

/**
 * SHA-256 over the previous hash and the stored bytes of every hashed column in the order of `HashedColumns`, each
 * after its length (32 bits, big-endian); null is the length 0xffffffff. Numbers are decimal text. Nothing is
 * serialized anew to verify a hash, so no change of a serializer can break one.
 */
export function eventHash(previous: Buffer, event: HashedColumns): Buffer {
  const hash = createHash('sha256').update(previous);
  for (const column of [
    event.tenantId,
    event.taskId,
    String(event.version),
    event.eventId,
    event.type,
    String(event.schemaVersion),
    event.facts,
    event.content,
    event.actorSubject,
    event.actorRole,
    event.commandId,
    event.commandFingerprint,
    event.causationId,
    event.correlationId,
    event.protocolVersion,
    event.traceParent,
    event.recordedAt,
  ]) {
    if (column === null) {
      hash.update(NULL);
      continue;
    }
    const length = Buffer.allocUnsafe(4);
    length.writeUInt32BE(typeof column === 'string' ? Buffer.byteLength(column) : column.length);
    hash.update(length).update(column);
  }
  return hash.digest();
}
