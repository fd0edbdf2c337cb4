import { ServerSecret, type SigningPurpose } from '@app/storage';
import { Controller, Get, Header } from '@nestjs/common';

/** Public keys of what clients receive and may want to verify. */
export const KEY_SET_PATH = '/.well-known/jwks.json';

const PUBLISHED: readonly SigningPurpose[] = ['agent-card', 'webhook'];

/** The JWK set (RFC 7517) of cards and webhook deliveries. */
@Controller('.well-known')
export class KeySetController {
  constructor(private readonly secret: ServerSecret) {}

  @Get('jwks.json')
  @Header('Cache-Control', 'public, max-age=300')
  keys() {
    return {
      keys: PUBLISHED.map((purpose) => {
        const { jwk, keyId } = this.secret.signingKey(purpose);
        return { ...jwk, kid: keyId, alg: 'EdDSA', use: 'sig' };
      }),
    };
  }
}
