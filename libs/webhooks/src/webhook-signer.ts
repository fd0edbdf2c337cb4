import { sign } from 'node:crypto';
import type { ServerSecret, SigningKey } from '@app/storage';

/** Signs what is told to webhooks. The public key is in the server's key set (`/.well-known/jwks.json`). */
export class PushSigner {
  private readonly key: SigningKey;

  constructor(secret: ServerSecret) {
    this.key = secret.signingKey('webhook');
  }

  /** The `X-Acta-Signature` header: over the seconds of the epoch, a dot, and the body's bytes. */
  header(body: Buffer, seconds: number): string {
    const signature = sign(null, Buffer.concat([Buffer.from(`${seconds}.`), body]), this.key.privateKey);
    return `t=${seconds},kid=${this.key.keyId},v1=${signature.toString('base64')}`;
  }
}
