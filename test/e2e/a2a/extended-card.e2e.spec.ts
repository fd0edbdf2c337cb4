import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import canonicalize from 'canonicalize';
import { createLocalJWKSet, decodeProtectedHeader, flattenedVerify, type JSONWebKeySet } from 'jose';
import { writeAgentModule } from '../../support/processes/agent-module.js';
import { DatabaseView } from '../../support/database/database-view.js';
import { call, http, sendParams } from '../../support/clients/rpc.js';
import { type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';

const OPTIONAL = 'https://example.com/extensions/optional/v1';
const REQUIRED = 'https://example.com/extensions/required/v1';

const agentWith = (extensions: object[]) => `export default {
  name: 'extended', description: 'supports extensions', version: '1.0.0',
  skills: [{ id: 'a', name: 'A', description: 'does A', tags: [] }],
  extensions: ${JSON.stringify(extensions)},
  run: (ctx) => ctx.complete('done'),
};`;

/** Starts a server whose agent supports the extensions. */
const startWith = async (extensions: object[]): Promise<RunningServer> =>
  startServer({ env: { ACTA_AGENTS: await writeAgentModule(agentWith(extensions)) } });

let server: RunningServer;
let serverWithRequired: RunningServer;
let token: string;

beforeAll(async () => {
  [server, serverWithRequired] = await Promise.all([
    startWith([{ uri: OPTIONAL, description: 'optional', params: { a: 1 } }]),
    startWith([{ uri: REQUIRED, required: true }]),
  ]);
  const database = new DatabaseView(server.databaseUrl!);
  token = await database.createKey({ subject: 'alice', rings: ['ring:one', 'ring:two'] });
  await database.close();
}, 90_000);
afterAll(() => Promise.all([server?.stop(), serverWithRequired?.stop()]));

interface Card {
  readonly capabilities: { readonly extensions?: { uri: string; params?: Record<string, unknown> }[] };
  readonly signatures?: { protected: string; signature: string }[];
}

describe('The extended agent card', () => {
  it.each([
    ['1.0', 'GetExtendedAgentCard'],
    ['0.3', 'agent/getAuthenticatedExtendedCard'],
  ])('of A2A %s contains the rings of the caller and the limits of the server', async (version, method) => {
    const { body } = await call(server.url, token, version, method);
    const { extensions } = (body.result as unknown as Card).capabilities;
    expect(extensions).toMatchObject([
      { uri: OPTIONAL, params: { a: 1 } },
      { uri: 'urn:acta:rings', params: { rings: ['ring:one', 'ring:two'] } },
      { uri: 'urn:acta:limits', params: { requestBodyBytes: 1_500_000, clientMessages: 100, pageSizeMax: 100 } },
    ]);
  });

  it.each(['a2a/v1', 'a2a/http-json/v1'])(
    'of A2A 0.3 at %s has security requirements and schemes for readers of the JSON Schema and of ProtoJSON',
    async (address) => {
      const headers = { 'A2A-Version': '0.3' };
      const { status, text } = await http('GET', `${server.url}/${address}/card`, token, { headers });
      expect(status).toBe(200);
      expect(JSON.parse(text)).toMatchObject({
        security: [{ bearer: [] }],
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', httpAuthSecurityScheme: { scheme: 'bearer' } },
        },
      });
    },
  );

  // [A2A-CARD-4]
  it('needs a credential, and the public card contains nothing about the caller or the limits', async () => {
    expect((await call(server.url, null, '1.0', 'GetExtendedAgentCard')).status).toBe(401);
    const { text } = await http('GET', `${server.url}/.well-known/agent-card.json`, null);
    expect(text).not.toMatch(/ring:|urn:acta|alice/);
  });

  // [A2A-CARD-5]
  it('is signed, like the public card, with a key that the server publishes', async () => {
    const { text } = await http('GET', `${server.url}/.well-known/agent-card.json`, null, {
      headers: { 'A2A-Version': '1.0' },
    });
    const extended = (await call(server.url, token, '1.0', 'GetExtendedAgentCard')).body.result as unknown as Card;
    for (const { signatures, ...card } of [JSON.parse(text) as Card, extended]) {
      const payload = Buffer.from(canonicalize(card)!).toString('base64url');
      const checks = signatures!.map(async (signature) => {
        const { jku, kid } = decodeProtectedHeader(signature);
        expect(jku).toBe(`${server.url}/.well-known/jwks.json`);
        const keys = JSON.parse((await http('GET', jku!, null)).text) as JSONWebKeySet;
        expect(keys.keys.map((key) => key.kid)).toContain(kid);
        return flattenedVerify({ ...signature, payload }, createLocalJWKSet(keys));
      });
      await expect(Promise.any(checks)).resolves.toBeDefined();
    }
  });
});

describe('An extension of an agent', () => {
  const send = (target: RunningServer, headers: Record<string, string>) =>
    http('POST', `${target.url}/a2a`, TOKEN, {
      headers: { 'A2A-Version': '1.0', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: sendParams('hi') }),
    });

  // [A2A-EXT-1]
  it('is listed in the response if the request lists it', async () => {
    const response = await send(server, { 'A2A-Extensions': `https://example.com/unknown, ${OPTIONAL}` });
    expect(response.headers.get('a2a-extensions')).toBe(OPTIONAL);
    expect((await send(server, {})).headers.get('a2a-extensions')).toBeNull();
    const legacy = await send(server, { 'X-A2A-Extensions': OPTIONAL });
    expect(legacy.headers.get('x-a2a-extensions')).toBe(OPTIONAL);
  });

  // [A2A-CAP-4]
  it('must be listed in each request if the agent requires it', async () => {
    const rejected = JSON.parse((await send(serverWithRequired, {})).text) as {
      error: { code: number; data: object[] };
    };
    expect(rejected.error).toMatchObject({
      code: -32008,
      data: [{ reason: 'EXTENSION_SUPPORT_REQUIRED', metadata: { extension: REQUIRED } }],
    });
    const response = await send(serverWithRequired, { 'A2A-Extensions': REQUIRED });
    expect(JSON.parse(response.text)).toMatchObject({ result: { task: {} } });
    expect(response.headers.get('a2a-extensions')).toBe(REQUIRED);
  });
});
