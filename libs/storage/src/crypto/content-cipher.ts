import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { ServerSecret } from './server-secret.js';

const NONCE = 12;
const TAG = 16;

/** The key of one task's content. Destroying its wrapped form is what erases a task. */
export interface TaskKey {
  readonly key: Buffer;
  readonly wrapped: Buffer;
}

/** AES-256-GCM over event content, under a key of the task that is itself wrapped by a key of the server's secret. */
export class ContentCipher {
  constructor(private readonly secret: ServerSecret) {}

  newKey(tenantId: string, taskId: string): TaskKey {
    const key = randomBytes(32);
    return { key, wrapped: sealBytes(this.wrappingKey, key, `${tenantId}/${taskId}`) };
  }

  unwrap(tenantId: string, taskId: string, wrapped: Buffer): TaskKey {
    return { key: openBytes(this.wrappingKey, wrapped, `${tenantId}/${taskId}`), wrapped };
  }

  /** Content as stored: nonce, ciphertext, tag. Bound to its event, so that content cannot be moved between events. */
  encrypt(key: TaskKey, eventId: string, content: unknown): Buffer {
    return sealBytes(key.key, Buffer.from(JSON.stringify(content)), eventId);
  }

  /** Throws when the bytes are not what was stored for this event. */
  decrypt(key: TaskKey, eventId: string, stored: Buffer): unknown {
    return JSON.parse(openBytes(key.key, stored, eventId).toString());
  }

  private get wrappingKey(): Buffer {
    return this.secret.key('content-key-wrapping');
  }
}

const NONCES = 256;
let nonces = Buffer.alloc(0);

/** Random bytes that nobody was given before. The generator is asked for many at a time: a call costs more than its bytes. */
function freshNonce(): Buffer {
  if (nonces.length === 0) nonces = randomBytes(NONCES * NONCE);
  const nonce = nonces.subarray(0, NONCE);
  nonces = nonces.subarray(NONCE);
  return nonce;
}

export function sealBytes(key: Buffer, plain: Buffer, context: string): Buffer {
  const nonce = freshNonce();
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context));
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

export function openBytes(key: Buffer, sealed: Buffer, context: string): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE)).setAAD(Buffer.from(context));
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG));
  return Buffer.concat([decipher.update(sealed.subarray(NONCE, sealed.length - TAG)), decipher.final()]);
}
