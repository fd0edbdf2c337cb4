import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { CompactSign, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { OidcVerifier } from './oidc-verifier.js';

const ISSUER = 'https://id.example.com';
const CLAIMS = { subject: 'sub', tenant: 'tenant', rings: 'rings', admin: 'admin' };
const ALICE = { sub: 'alice', tenant: 'acme', rings: ['ring:dev', 'ring:ops'] };

type KeyPair = Awaited<ReturnType<typeof newKey>>;

const newKey = async (kid: string, alg = 'ES256') => ({ kid, alg, ...(await generateKeyPair(alg)) });

let keys: KeyPair[];
let status: number;
let fetches: number;
let server: Server;
let verifier: OidcVerifier;

beforeEach(async () => {
  keys = [await newKey('one')];
  status = 200;
  fetches = 0;
  server = createServer((_request, response) => {
    fetches += 1;
    void Promise.all(keys.map(async ({ publicKey, kid, alg }) => ({ ...(await exportJWK(publicKey)), kid, alg }))).then(
      (set) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ keys: set })),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  verifier = newVerifier();
});
afterEach(async () => {
  jest.restoreAllMocks();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const newVerifier = (claims = CLAIMS) =>
  new OidcVerifier({
    issuer: ISSUER,
    audience: 'acta',
    jwksUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`,
    claims,
  });

const secondsFromNow = (seconds: number) => Math.floor(Date.now() / 1_000) + seconds;

const sign = (claims: JWTPayload, key: KeyPair = keys[0]!) =>
  new SignJWT({ iss: ISSUER, aud: 'acta', exp: secondsFromNow(300), ...claims })
    .setProtectedHeader({ alg: key.alg, kid: key.kid })
    .sign(key.privateKey);

const outcome = async (token: string | Promise<string>, by = verifier) =>
  by.verify(await token).catch((error: unknown) => error);

describe('OidcVerifier', () => {
  it('returns the principal and the expiry of a token', async () => {
    const exp = secondsFromNow(300);
    expect(await outcome(sign({ ...ALICE, exp }))).toEqual({
      principal: { tenantId: 'acme', subject: 'alice', role: 'member', rings: ['ring:dev', 'ring:ops'], agents: [] },
      expiresAt: new Date((exp + 60) * 1_000),
    });
    expect(await outcome(sign({ ...ALICE, admin: true }))).toMatchObject({ principal: { role: 'admin' } });
    expect(await outcome(sign({ ...ALICE, admin: 'no' }))).toMatchObject({ principal: { role: 'member' } });
  });

  it('accepts rings as one string, and a token without rings', async () => {
    expect(await outcome(sign({ ...ALICE, rings: 'ring:a ring:b' }))).toMatchObject({
      principal: { rings: ['ring:a', 'ring:b'] },
    });
    expect(await outcome(sign({ sub: 'alice', tenant: 'acme' }))).toMatchObject({ principal: { rings: [] } });
  });

  it('reads the claims by their configured names', async () => {
    const claims = { subject: 'oid', tenant: 'https://acta/tenant', rings: 'groups', admin: 'boss' };
    const token = sign({ oid: 'bob', 'https://acta/tenant': 'acme', groups: ['g'], boss: true, tenant: 'other' });
    expect(await outcome(token, newVerifier(claims))).toMatchObject({
      principal: { tenantId: 'acme', subject: 'bob', role: 'admin', rings: ['g'] },
    });
  });

  it.each<[string, JWTPayload]>([
    ['has no tenant', { tenant: undefined }],
    ['has an invalid tenant name', { tenant: 'a b' }],
    ['has no subject', { sub: undefined }],
    ['has rings that are not a list', { rings: 7 }],
    ['has an invalid ring name', { rings: ['ring:a', ''] }],
    ['is of a different issuer', { iss: 'https://other.example.com' }],
    ['is for a different audience', { aud: 'other' }],
    ['has expired by more than the clock tolerance', { exp: secondsFromNow(-61) }],
    ['never expires', { exp: undefined }],
    ['is not valid yet', { nbf: secondsFromNow(120) }],
  ])('rejects a token that %s, and does not count it as a guess', async (_reason, change) => {
    expect(await outcome(sign({ ...ALICE, ...change }))).toMatchObject({ mayBeGuessed: false });
  });

  it('accepts a token within a clock tolerance of one minute', async () => {
    expect(await outcome(sign({ ...ALICE, exp: secondsFromNow(-50) }))).toHaveProperty('principal');
    expect(await outcome(sign({ ...ALICE, nbf: secondsFromNow(50) }))).toHaveProperty('principal');
  });

  it('rejects a token that is unsigned or signed with a different key, and counts it as a guess', async () => {
    const forged = sign(ALICE, await newKey('one'));
    const unknown = sign(ALICE, await newKey('unknown'));
    const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from(JSON.stringify({ iss: ISSUER, aud: 'acta', exp: secondsFromNow(60), ...ALICE })).toString('base64url')}.`;
    const symmetric = new CompactSign(Buffer.from(JSON.stringify(ALICE)))
      .setProtectedHeader({ alg: 'HS256', kid: 'one' })
      .sign(Buffer.from(JSON.stringify(await exportJWK(keys[0]!.publicKey))));
    for (const token of [forged, unknown, unsigned, symmetric, 'a.b.c', 'e30.e30.e30']) {
      expect(await outcome(token)).toMatchObject({ mayBeGuessed: true });
    }
  });
});

describe('the keys of the identity provider', () => {
  it('are fetched once, and again for an unknown key at most every 30 seconds', async () => {
    await outcome(sign(ALICE));
    await outcome(sign(ALICE));
    expect(fetches).toBe(1);
    keys.unshift(await newKey('two', 'RS256'));
    const unknown = await newKey('unknown');
    await outcome(sign(ALICE, unknown));
    expect(fetches).toBe(1);
    const later = Date.now() + 31_000;
    jest.spyOn(Date, 'now').mockImplementation(() => later);
    expect(await outcome(sign(ALICE))).toHaveProperty('principal');
    await outcome(sign(ALICE, unknown));
    expect(fetches).toBe(2);
  });

  it('cause Overloaded, not a rejected token, if they cannot be fetched', async () => {
    const token = await sign(ALICE);
    status = 500;
    expect(await outcome(token)).toMatchObject({ kind: 'Overloaded', details: { retryAfterSeconds: 5 } });
    status = 200;
    expect(await outcome(token)).toHaveProperty('principal');
    const unreachable = new OidcVerifier({
      issuer: ISSUER,
      audience: 'acta',
      // The discard port, where nothing listens.
      jwksUrl: 'http://127.0.0.1:9/jwks',
      claims: CLAIMS,
    });
    expect(await outcome(token, unreachable)).toMatchObject({ kind: 'Overloaded' });
  });
});
