import { hash } from 'node:crypto';

/** The hashed columns that all events of an append have in common. `recordedAt` is RFC 3339, UTC, milliseconds. */
export interface AppendColumns {
  readonly tenantId: string;
  readonly taskId: string;
  readonly actorSubject: string;
  readonly actorRole: string;
  readonly commandId: string;
  readonly commandFingerprint: Buffer;
  readonly correlationId: string;
  readonly protocolVersion: string | null;
  readonly traceParent: string | null;
  readonly traceState: string | null;
  readonly recordedAt: string;
}

/** The hashed columns of one event. */
export interface EventColumns {
  readonly version: number;
  readonly eventId: string;
  readonly type: string;
  readonly schemaVersion: number;
  readonly causationId: string | null;
  readonly facts: string;
  readonly content: Buffer | null;
}

/** The previous hash of the first event of a stream. */
export const GENESIS_HASH = Buffer.alloc(32);

/** The version of the layout below, for new events. */
export const HASH_VERSION = 1;

/** Returns whether this version of Acta can recompute hashes of a version. */
export const isKnownHashVersion = (version: number): boolean => version === HASH_VERSION;

/** Returns the bytes of the columns that the hashes of an append have in common, so that an append packs them once. */
export const packAppendColumns = (append: AppendColumns): Buffer =>
  pack([
    append.tenantId,
    append.taskId,
    append.actorSubject,
    append.actorRole,
    append.commandId,
    append.commandFingerprint,
    append.correlationId,
    append.protocolVersion,
    append.traceParent,
    append.traceState,
    append.recordedAt,
  ]);

/**
 * Returns the SHA-256 of one byte with the version of the layout, of the previous hash, and of every hashed column in the order
 * of `AppendColumns` and `EventColumns`. Each column is its stored bytes after their length (32 bits, big-endian); null is the
 * length 0xffffffff. Numbers are decimal text. A verification hashes the stored bytes, so a change of a serializer cannot break
 * a chain. Throws for an unknown version.
 */
export function eventHash(version: number, previous: Buffer, packedAppend: Buffer, event: EventColumns): Buffer {
  if (!isKnownHashVersion(version)) {
    throw new Error(`hash version ${version} is unknown (this version of Acta knows ${HASH_VERSION}): use a newer one`);
  }
  const columns = [
    String(event.version),
    event.eventId,
    event.type,
    String(event.schemaVersion),
    event.causationId,
    event.facts,
    event.content,
  ];
  return hash('sha256', pack(columns, Buffer.from([version]), previous, packedAppend), 'buffer');
}

/** Returns the prefixes and the columns in one buffer. One call of the hash with it takes half the time of one call per column. */
function pack(columns: readonly (string | Buffer | null)[], ...prefixes: readonly Buffer[]): Buffer {
  const lengths = columns.map(lengthOf);
  const prefixLength = prefixes.reduce((sum, prefix) => sum + prefix.length, 0);
  const packed = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + 4 + Math.max(length, 0), prefixLength));
  let offset = 0;
  for (const prefix of prefixes) offset += prefix.copy(packed, offset);
  columns.forEach((column, index) => {
    offset = packed.writeInt32BE(lengths[index]!, offset);
    if (typeof column === 'string') offset += packed.write(column, offset);
    else if (column !== null) offset += column.copy(packed, offset);
  });
  return packed;
}

/** Returns the length in bytes. Null is -1, which is 0xffffffff in 32 bits. */
function lengthOf(column: string | Buffer | null): number {
  if (column === null) return -1;
  return typeof column === 'string' ? Buffer.byteLength(column) : column.length;
}
