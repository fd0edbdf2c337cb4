import { ServerSecret, type SigningPurpose } from '@app/storage';
import { Controller, Get, Header } from '@nestjs/common';
import { Public, Surface } from '../edge/routes/route-config.js';

/** The path of the public keys that verify agent cards and webhook deliveries. */
export const KEY_SET_PATH = '/.well-known/jwks.json';

const PUBLISHED: readonly SigningPurpose[] = ['agent-card', 'webhook'];

/** The JSON Web Key Set (RFC 7517) of this server. */
@Surface('discovery')
@Public()
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
