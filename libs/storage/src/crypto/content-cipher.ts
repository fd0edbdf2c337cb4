import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { ServerSecret } from './server-secret.js';

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** One call of the random generator returns many nonces, because the call costs more than the bytes. */
const NONCES_PER_CALL = 256;

/** The key of one task's content. Without its wrapped form, the content cannot be decrypted. */
export interface TaskKey {
  readonly key: Buffer;
  readonly wrapped: Buffer;
  /** The secret that wrapped the key. */
  readonly keyId: string;
}

/**
 * Encrypts event content with AES-256-GCM under a key of the task, which is wrapped by a key derived from the server
 * secret.
 */
export class ContentCipher {
  constructor(private readonly secret: ServerSecret) {}

  newKey(tenantId: string, taskId: string): TaskKey {
    const key = randomBytes(KEY_BYTES);
    const { keyId } = this.secret;
    const wrappingKey = this.secret.wrappingKey('content-key-wrapping', keyId)!;
    return { key, wrapped: encryptBytes(wrappingKey, key, `${tenantId}/${taskId}`), keyId };
  }

  /** Returns null if a different secret wrapped the key. Throws when the bytes are not the wrapped key of this task. */
  unwrap(tenantId: string, taskId: string, wrapped: Buffer, keyId: string): TaskKey | null {
    const wrappingKey = this.secret.wrappingKey('content-key-wrapping', keyId);
    if (wrappingKey === null) return null;
    return { key: decryptBytes(wrappingKey, wrapped, `${tenantId}/${taskId}`), wrapped, keyId };
  }

  /** Returns the content as it is stored. It is bound to its event, so that it cannot be moved to a different one. */
  encrypt(key: TaskKey, eventId: string, content: unknown): Buffer {
    return encryptBytes(key.key, Buffer.from(JSON.stringify(content)), eventId);
  }

  /** Throws when the bytes are not what was stored for this event. */
  decrypt(key: TaskKey, eventId: string, stored: Buffer): unknown {
    return JSON.parse(decryptBytes(key.key, stored, eventId).toString());
  }
}

let nonces = Buffer.alloc(0);

function nextNonce(): Buffer {
  if (nonces.length === 0) nonces = randomBytes(NONCES_PER_CALL * NONCE_BYTES);
  const nonce = nonces.subarray(0, NONCE_BYTES);
  nonces = nonces.subarray(NONCE_BYTES);
  return nonce;
}

/** Returns nonce, ciphertext and tag. Decryption needs the same associated data. */
export function encryptBytes(key: Buffer, plain: Buffer, associatedData: string): Buffer {
  const nonce = nextNonce();
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(associatedData));
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** Reverses `encryptBytes`. Throws when the key, the bytes or the associated data are not the same. */
export function decryptBytes(key: Buffer, encrypted: Buffer, associatedData: string): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, encrypted.subarray(0, NONCE_BYTES)).setAAD(
    Buffer.from(associatedData),
  );
  decipher.setAuthTag(encrypted.subarray(encrypted.length - TAG_BYTES));
  return Buffer.concat([
    decipher.update(encrypted.subarray(NONCE_BYTES, encrypted.length - TAG_BYTES)),
    decipher.final(),
  ]);
}
