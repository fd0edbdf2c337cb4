import { hash } from 'node:crypto';

/** The stored columns of an event that its hash covers. `recordedAt` is RFC 3339, UTC, milliseconds. */
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
  readonly traceState: string | null;
  readonly recordedAt: string;
}

/** The previous hash of the first event of a stream. */
export const GENESIS_HASH = Buffer.alloc(32);

/**
 * Returns the SHA-256 of the previous hash and of every hashed column, in the order of `HashedColumns`. Each column is
 * its stored bytes after their length (32 bits, big-endian); null is the length 0xffffffff. Numbers are decimal text. A
 * verification hashes the stored bytes, so a change of a serializer cannot break a chain.
 */
export function eventHash(previous: Buffer, event: HashedColumns): Buffer {
  const columns: readonly (string | Buffer | null)[] = [
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
    event.traceState,
    event.recordedAt,
  ];
  // One call with one buffer takes half the time of one call per column.
  const lengths = columns.map(lengthOf);
  const packed = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + 4 + Math.max(length, 0), previous.length));
  let offset = previous.copy(packed);
  columns.forEach((column, index) => {
    offset = packed.writeInt32BE(lengths[index]!, offset);
    if (typeof column === 'string') offset += packed.write(column, offset);
    else if (column !== null) offset += column.copy(packed, offset);
  });
  return hash('sha256', packed, 'buffer');
}

/** Returns the length in bytes. Null is -1, which is 0xffffffff in 32 bits. */
function lengthOf(column: string | Buffer | null): number {
  if (column === null) return -1;
  return typeof column === 'string' ? Buffer.byteLength(column) : column.length;
}
