import { createHmac, hkdfSync } from 'node:crypto';

/** What keys are derived for. A purpose is part of the derivation, so a key for one is no key for another. */
export type KeyPurpose =
  'content-key-wrapping' | 'fingerprint' | 'page-token' | 'push-credentials' | 'seal' | 'secret-fingerprint';

/** The one secret of a deployment (`ACTA_SECRET_KEY`). */
export class ServerSecret {
  private readonly derived = new Map<KeyPurpose, Buffer>();

  constructor(private readonly secret: string) {}

  /** 32 bytes: HKDF-SHA256 (RFC 5869) of the secret for one purpose. */
  key(purpose: KeyPurpose): Buffer {
    let key = this.derived.get(purpose);
    if (key === undefined) {
      key = Buffer.from(hkdfSync('sha256', this.secret, 'acta/v1', purpose, 32));
      this.derived.set(purpose, key);
    }
    return key;
  }

  hmac(purpose: KeyPurpose, data: string | Buffer): Buffer {
    return createHmac('sha256', this.key(purpose)).update(data).digest();
  }

  /** Kept in the database, so that a server with another secret notices before it writes anything. */
  fingerprint(): string {
    return this.key('secret-fingerprint').toString('hex');
  }
}
