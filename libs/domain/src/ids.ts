import { createHash, randomUUID } from 'node:crypto';
import { BOUNDS } from './bounds.js';

/**
 * An id that any replica derives from the same names: the first 16 bytes of SHA-256 over the length-prefixed names, as a
 * UUID of version 8 (RFC 9562 section 5.8, for ids of one's own making).
 */
export function derivedId(...names: readonly (string | number)[]): string {
  const hash = createHash('sha256');
  for (const name of names) {
    const bytes = Buffer.from(String(name));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    hash.update(length).update(bytes);
  }
  const id = hash.digest().subarray(0, 16);
  id[6] = (id[6]! & 0x0f) | 0x80;
  id[8] = (id[8]! & 0x3f) | 0x80;
  const hex = id.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Retries of one message through any replica meet in one task: same tenant, caller and messageId, same ids. */
export const taskIdOf = (tenantId: string, subject: string, messageId: string) =>
  derivedId('task', tenantId, subject, messageId);

export const contextIdOf = (tenantId: string, subject: string, messageId: string) =>
  derivedId('context', tenantId, subject, messageId);

/** A retried command derives the ids of its first try, so the log refuses to hold it twice. */
export const eventIdOf = (tenantId: string, taskId: string, commandId: string, ordinal: number) =>
  derivedId('event', tenantId, taskId, commandId, ordinal);

export const newId = (): string => randomUUID();

/** Whether a value is an id that a client could have sent: printable and bounded. */
export const isPrintableId = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= BOUNDS.idLength && /^[^\p{C}\p{Zl}\p{Zp}]+$/u.test(value);
