import { createHmac, randomBytes } from 'node:crypto';
import type pg from 'pg';
import { StorageError } from '../storage-error.js';
import { decryptBytes, encryptBytes } from './content-cipher.js';
import type { ServerSecret } from './server-secret.js';

/** The use of a random key. `ids`: ids of tasks and contexts. `fingerprints`: fingerprints of messages and commands. */
type ServerKeyPurpose = 'ids' | 'fingerprints';

const PURPOSES: readonly ServerKeyPurpose[] = ['ids', 'fingerprints'];
const KEY_BYTES = 32;

/**
 * The random keys that all servers of a database share. They are stored wrapped. What derives from them stays the same when the
 * secret is rotated, because a rotation only wraps them again.
 */
export class ServerKeys {
  constructor(private readonly keys: Readonly<Record<ServerKeyPurpose, Buffer>>) {}

  /** The key of `taskIdsOf`. */
  get ids(): Buffer {
    return this.keys.ids;
  }

  /** Returns the fingerprint of a payload, which is its HMAC-SHA256. It tells nothing about the payload without the key. */
  fingerprint(payload: string): Buffer {
    return createHmac('sha256', this.keys.fingerprints).update(payload).digest();
  }
}

interface KeyRow {
  purpose: string;
  key_id: string;
  wrapped_key: Buffer;
}

/**
 * Reads the keys of a database, and creates those that are missing. The caller has locked the row of `server_state`, so that
 * servers that start concurrently get the same keys. Throws StorageError.
 */
export async function loadServerKeys(secret: ServerSecret, executor: Pick<pg.Pool, 'query'>): Promise<ServerKeys> {
  const { rows } = await executor.query<KeyRow>('select purpose, key_id, wrapped_key from server_key');
  const keys = await Promise.all(
    PURPOSES.map(async (purpose) => {
      const stored = rows.find((row) => row.purpose === purpose);
      return [purpose, stored === undefined ? await createKey(purpose, secret, executor) : unwrapKey(stored, secret)];
    }),
  );
  return new ServerKeys(Object.fromEntries(keys) as Record<ServerKeyPurpose, Buffer>);
}

async function createKey(
  purpose: ServerKeyPurpose,
  secret: ServerSecret,
  executor: Pick<pg.Pool, 'query'>,
): Promise<Buffer> {
  const key = randomBytes(KEY_BYTES);
  const { keyId } = secret;
  const wrapped = encryptBytes(secret.wrappingKey('server-key-wrapping', keyId)!, key, purpose);
  await executor.query('insert into server_key (purpose, key_id, wrapped_key) values ($1, $2, $3)', [
    purpose,
    keyId,
    wrapped,
  ]);
  return key;
}

function unwrapKey({ purpose, key_id: keyId, wrapped_key: wrapped }: KeyRow, secret: ServerSecret): Buffer {
  const wrappingKey = secret.wrappingKey('server-key-wrapping', keyId);
  if (wrappingKey !== null) {
    try {
      return decryptBytes(wrappingKey, wrapped, purpose);
    } catch {
      // Reported below.
    }
  }
  throw new StorageError(
    `The key "${purpose}" of the database cannot be decrypted: set ACTA_SECRET_KEY to the secret that the database was created with, or restore the table server_key from a backup.`,
  );
}
