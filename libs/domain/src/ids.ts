import { hash, randomUUID } from 'node:crypto';
import { BOUNDS } from './bounds.js';

/**
 * Derives the id that every replica derives from the same names: the first 16 bytes of SHA-256 over the length-prefixed names,
 * as a UUID of version 8 (RFC 9562 section 5.8, custom formats).
 */
export function derivedId(...names: readonly (string | number)[]): string {
  const texts = names.map(String);
  const lengths = texts.map((text) => Buffer.byteLength(text));
  // Every message and every event needs such an id, so the names are hashed in one call.
  const packed = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + 4 + length, 0));
  let offset = 0;
  texts.forEach((text, index) => {
    offset = packed.writeUInt32BE(lengths[index]!, offset);
    offset += packed.write(text, offset);
  });
  const hex = hash('sha256', packed, 'hex');
  const variant = ((Number.parseInt(hex[16]!, 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Retries of one message through any replica reach the same task, because tenant, caller and messageId determine its id. */
export const taskIdOf = (tenantId: string, subject: string, messageId: string) =>
  derivedId('task', tenantId, subject, messageId);

export const contextIdOf = (tenantId: string, subject: string, messageId: string) =>
  derivedId('context', tenantId, subject, messageId);

/** A retried command derives the event ids of its first attempt, so the log cannot record it twice. */
export const eventIdOf = (tenantId: string, taskId: string, commandId: string, ordinal: number) =>
  derivedId('event', tenantId, taskId, commandId, ordinal);

export const newId = (): string => randomUUID();

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Returns whether a text is a UUID in canonical form: lower case, with hyphens. Every id that Acta makes has this form, so no
 * other text is the id of a task, a key or an event.
 */
export const isUuid = (text: string): boolean => UUID.test(text);

/** The lowest UUID, which is the id of nothing: the position before all ids. */
export const NIL_UUID = '00000000-0000-0000-0000-000000000000';

/** Returns whether a value is an id that a client can send: printable, and at most `BOUNDS.idLength` characters. */
export const isPrintableId = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= BOUNDS.idLength && /^[^\p{C}\p{Zl}\p{Zp}]+$/u.test(value);
