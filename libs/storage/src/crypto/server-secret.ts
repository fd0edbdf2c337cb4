import { createHash, createHmac, createPrivateKey, createPublicKey, hkdfSync, type KeyObject } from 'node:crypto';

/** The use of a derived key. The purpose is part of the derivation, so that every purpose has a different key. */
export type KeyPurpose =
  WrappingPurpose | 'page-token' | 'push-credentials' | 'secret-fingerprint' | 'secret-id' | SigningPurpose;

/** The use of a key that encrypts other keys. */
export type WrappingPurpose = 'content-key-wrapping' | 'server-key-wrapping';

export type SigningPurpose = 'agent-card' | 'webhook';

/** An Ed25519 key pair, and its public key as a JWK (RFC 8037). */
export interface SigningKey {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  /** The thumbprint of the public key (RFC 7638), which is the `kid` of its signatures. */
  readonly keyId: string;
  readonly jwk: { readonly kty: 'OKP'; readonly crv: 'Ed25519'; readonly x: string };
}

/** The DER encoding of a PKCS #8 Ed25519 key without the 32 bytes of the key (RFC 8410 section 7). */
const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');

const KEY_ID_BYTES = 8;

/** The secret of a deployment (`ACTA_SECRET_KEY`), and the keys that are derived from it. */
export class ServerSecret {
  private readonly derived = new Map<KeyPurpose, Buffer>();
  private readonly signing = new Map<SigningPurpose, SigningKey>();

  constructor(private readonly secret: string) {}

  /** Derives 32 bytes for one purpose with HKDF-SHA256 (RFC 5869). */
  key(purpose: KeyPurpose): Buffer {
    let key = this.derived.get(purpose);
    if (key === undefined) {
      key = Buffer.from(hkdfSync('sha256', this.secret, 'acta/v1', purpose, 32));
      this.derived.set(purpose, key);
    }
    return key;
  }

  /** The id of this secret. It is stored beside each key that the secret wraps, and does not reveal the secret. */
  get keyId(): string {
    return this.key('secret-id').toString('hex', 0, KEY_ID_BYTES);
  }

  /** Returns the key that wraps keys of one purpose under the secret with this id. Null: that is a different secret. */
  wrappingKey(purpose: WrappingPurpose, keyId: string): Buffer | null {
    return keyId === this.keyId ? this.key(purpose) : null;
  }

  /** Derives the key pair for one purpose. It is the same in every replica. */
  signingKey(purpose: SigningPurpose): SigningKey {
    let pair = this.signing.get(purpose);
    if (pair === undefined) {
      const der = Buffer.concat([PKCS8_ED25519, this.key(purpose)]);
      const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
      const publicKey = createPublicKey(privateKey);
      const jwk = { crv: 'Ed25519', kty: 'OKP', x: publicKey.export({ format: 'jwk' }).x! } as const;
      const keyId = createHash('sha256').update(JSON.stringify(jwk)).digest('base64url');
      pair = { privateKey, publicKey, keyId, jwk };
      this.signing.set(purpose, pair);
    }
    return pair;
  }

  /** Returns the HMAC-SHA256 of data under the key for one purpose. */
  hmac(purpose: KeyPurpose, data: string | Buffer): Buffer {
    return createHmac('sha256', this.key(purpose)).update(data).digest();
  }

  /**
   * Returns a value for the database, by which a server with a different secret is detected before it writes anything.
   */
  fingerprint(): string {
    return this.key('secret-fingerprint').toString('hex');
  }
}
