import { sign } from 'node:crypto';
import { ServerSecret, type SigningKey } from '@app/storage';
import { Injectable } from '@nestjs/common';

/** Signs the bodies of deliveries. The public key is in the server's key set (`/.well-known/jwks.json`). */
@Injectable()
export class WebhookSigner {
  private readonly key: SigningKey;

  constructor(secret: ServerSecret) {
    this.key = secret.signingKey('webhook');
  }

  /** Returns the `X-Acta-Signature` header. It covers the time in seconds since 1970, a dot, and the bytes of the body. */
  header(body: Buffer, seconds: number): string {
    const signature = sign(null, Buffer.concat([Buffer.from(`${seconds}.`), body]), this.key.privateKey);
    return `t=${seconds},kid=${this.key.keyId},v1=${signature.toString('base64')}`;
  }
}
