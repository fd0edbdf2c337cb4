import { hash, randomUUID } from 'node:crypto';
import { BOUNDS } from './bounds.js';

/**
 * An id that any replica derives from the same names: the first 16 bytes of SHA-256 over the length-prefixed names, as a
 * UUID of version 8 (RFC 9562 section 5.8, for ids of one's own making).
 */
export function derivedId(...names: readonly (string | number)[]): string {
  const texts = names.map(String);
  const lengths = texts.map((text) => Buffer.byteLength(text));
  // One buffer, hashed in one call: every message and every event has such an id.
  const packed = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + 4 + length, 0));
  let at = 0;
  texts.forEach((text, nth) => {
    at = packed.writeUInt32BE(lengths[nth]!, at);
    at += packed.write(text, at);
  });
  const hex = hash('sha256', packed, 'hex');
  const variant = ((Number.parseInt(hex[16]!, 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
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
