import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { http } from '../../support/clients/rpc.js';
import { useServer } from '../../support/processes/spec-server.js';

const ISSUER = 'https://id.example.com';
/** The largest signatures: 683 characters in the token. */
const ALGORITHM = 'RS256';
const RINGS = 100;

let keys: Awaited<ReturnType<typeof generateKeyPair>>;
const provider = createServer((_request, response) => {
  void exportJWK(keys.publicKey).then((key) =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ keys: [{ ...key, kid: 'one', alg: ALGORITHM }] })),
  );
});

beforeAll(async () => {
  keys = await generateKeyPair(ALGORITHM, { modulusLength: 4096 });
});
afterAll(() => void provider.close());

const server = useServer(async () => {
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  return {
    ACTA_OIDC_ISSUER: ISSUER,
    ACTA_OIDC_AUDIENCE: 'acta',
    ACTA_OIDC_JWKS_URL: `http://127.0.0.1:${(provider.address() as AddressInfo).port}/`,
  };
});

/** Signs a token with rings of this many characters. */
function tokenWith(count: number, characters: number): Promise<string> {
  const rings = Array.from({ length: count }, (_, n) => `ring:${n}:`.padEnd(characters, 'x'));
  return new SignJWT({ iss: ISSUER, aud: 'acta', sub: 's'.repeat(256), tenant: 't'.repeat(256), rings })
    .setProtectedHeader({ alg: ALGORITHM, kid: 'one' })
    .setExpirationTime('5m')
    .sign(keys.privateKey);
}

const statusWith = async (token: string) => (await http('GET', `${server.url}/api/tasks`, token)).status;

describe('An identity token', () => {
  it.each([
    [1, 8],
    [RINGS, 32],
    [RINGS, 128],
    [RINGS, 256],
  ])('with %d rings of %d characters is accepted', async (count, characters) => {
    expect(await statusWith(await tokenWith(count, characters))).toBe(200);
  });

  it('with more rings, or with longer ones, is rejected by the rules of tokens, not by its size', async () => {
    expect(await statusWith(await tokenWith(RINGS + 1, 256))).toBe(401);
    expect(await statusWith(await tokenWith(RINGS, 257))).toBe(401);
  });
});
