import { createHash, createHmac, createPrivateKey, createPublicKey, hkdfSync, type KeyObject } from 'node:crypto';

/** What keys are derived for. A purpose is part of the derivation, so a key for one is no key for another. */
export type KeyPurpose =
  'content-key-wrapping' | 'fingerprint' | 'page-token' | 'push-credentials' | 'secret-fingerprint' | SigningPurpose;

/** What is signed: agent cards, blocks of the log, webhook deliveries. */
export type SigningPurpose = 'agent-card' | 'seal' | 'webhook';

/** An Ed25519 key pair, and its public half for a JWK set (RFC 8037). */
export interface SigningKey {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  /** The thumbprint of the public key (RFC 7638): the `kid` of what it signs. */
  readonly keyId: string;
  readonly jwk: { readonly kty: 'OKP'; readonly crv: 'Ed25519'; readonly x: string };
}

/** DER of a PKCS #8 Ed25519 key up to its 32 bytes (RFC 8410 section 7). */
const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The one secret of a deployment (`ACTA_SECRET_KEY`). */
export class ServerSecret {
  private readonly derived = new Map<KeyPurpose, Buffer>();
  private readonly signing = new Map<SigningPurpose, SigningKey>();

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

  /** The key pair that every replica signs one kind of thing with. */
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

  hmac(purpose: KeyPurpose, data: string | Buffer): Buffer {
    return createHmac('sha256', this.key(purpose)).update(data).digest();
  }

  /** Kept in the database, so that a server with another secret notices before it writes anything. */
  fingerprint(): string {
    return this.key('secret-fingerprint').toString('hex');
  }
}
