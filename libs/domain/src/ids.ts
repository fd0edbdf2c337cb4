import { createHmac, hash, randomUUID } from 'node:crypto';
import { BOUNDS } from './bounds.js';

/**
 * Derives the id that every replica derives from the same names: the first 16 bytes of SHA-256 over the length-prefixed names,
 * as a UUID of version 8 (RFC 9562 section 5.8, custom formats). Anyone who knows the names can compute it.
 */
export const derivedId = (...names: readonly (string | number)[]): string =>
  uuidOf(hash('sha256', packed(names), 'hex'));

/** Every message and every event needs such an id, so the names are hashed in one call. */
function packed(names: readonly (string | number)[]): Buffer {
  const texts = names.map(String);
  const lengths = texts.map((text) => Buffer.byteLength(text));
  const bytes = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + 4 + length, 0));
  let offset = 0;
  texts.forEach((text, index) => {
    offset = bytes.writeUInt32BE(lengths[index]!, offset);
    offset += bytes.write(text, offset);
  });
  return bytes;
}

/** Returns the first 16 bytes of a hash as a UUID of version 8. */
function uuidOf(hex: string): string {
  const variant = ((Number.parseInt(hex[16]!, 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/**
 * Returns the ids of a new task and of its context, which the halves of one HMAC-SHA256 determine. Tenant, caller and messageId
 * determine both, so that retries of a message through any replica reach one task. The key keeps a colleague, who may know all
 * three, from computing them.
 */
export function taskIdsOf(
  key: Uint8Array,
  tenantId: string,
  subject: string,
  messageId: string,
): { readonly taskId: string; readonly contextId: string } {
  const hex = createHmac('sha256', key)
    .update(packed(['task', tenantId, subject, messageId]))
    .digest('hex');
  return { taskId: uuidOf(hex), contextId: uuidOf(hex.slice(32)) };
}

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
