import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import canonicalize from 'canonicalize';
import { createLocalJWKSet, decodeProtectedHeader, flattenedVerify, type JSONWebKeySet } from 'jose';
import { createDataDir } from '../../support/processes/acta-process.js';
import { DatabaseView } from '../../support/database/database-view.js';
import { call, http, sendParams } from '../../support/clients/rpc.js';
import { type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';

const OPTIONAL = 'https://example.com/extensions/optional/v1';
const REQUIRED = 'https://example.com/extensions/required/v1';

const AGENT = `export default {
  name: 'extended', description: 'speaks extensions', version: '1.0.0',
  skills: [{ id: 'a', name: 'A', description: 'does A', tags: [] }],
  extensions: EXTENSIONS,
  run: (ctx) => ctx.complete('done'),
};`;

/** A server whose agent speaks these extensions. */
async function startWith(extensions: object[]): Promise<RunningServer> {
  const dataDir = await createDataDir();
  const module = join(dataDir, 'extended.mjs');
  await writeFile(module, AGENT.replace('EXTENSIONS', JSON.stringify(extensions)));
  return startServer({ dataDir, env: { ACTA_AGENTS: module } });
}

let server: RunningServer;
let strict: RunningServer;
let token: string;

beforeAll(async () => {
  [server, strict] = await Promise.all([
    startWith([{ uri: OPTIONAL, description: 'optional', params: { a: 1 } }]),
    startWith([{ uri: REQUIRED, required: true }]),
  ]);
  const database = new DatabaseView(server.databaseUrl!);
  token = await database.createKey({ subject: 'alice', rings: ['ring:one', 'ring:two'] });
  await database.close();
}, 90_000);
afterAll(() => Promise.all([server?.stop(), strict?.stop()]));

interface Card {
  readonly capabilities: { readonly extensions?: { uri: string; params?: Record<string, unknown> }[] };
  readonly signatures?: { protected: string; signature: string }[];
}

describe('the extended card', () => {
  it.each([
    ['1.0', 'GetExtendedAgentCard'],
    ['0.3', 'agent/getAuthenticatedExtendedCard'],
  ])('of %s tells a caller its rings and the limits in force', async (version, method) => {
    const { body } = await call(server.url, token, version, method);
    const { extensions } = (body.result as unknown as Card).capabilities;
    expect(extensions).toMatchObject([
      { uri: OPTIONAL, params: { a: 1 } },
      { uri: 'urn:acta:rings', params: { rings: ['ring:one', 'ring:two'] } },
      { uri: 'urn:acta:limits', params: { requestBodyBytes: 1_500_000, clientMessages: 100, pageSizeMax: 100 } },
    ]);
  });

  // [A2A-CARD-4]
  it('is for callers with a credential only, and the public card has nothing of it', async () => {
    expect((await call(server.url, null, '1.0', 'GetExtendedAgentCard')).status).toBe(401);
    const { text } = await http('GET', `${server.url}/.well-known/agent-card.json`, null);
    expect(text).not.toMatch(/ring:|urn:acta|alice/);
  });
});

// [A2A-CARD-5]
it('the cards of v1.0 are signed with a key that the server publishes', async () => {
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

describe('extensions', () => {
  const send = (to: RunningServer, headers: Record<string, string>) =>
    http('POST', `${to.url}/a2a`, TOKEN, {
      headers: { 'A2A-Version': '1.0', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: sendParams('hi') }),
    });

  // [A2A-EXT-1]
  it('that a request names and the agent speaks are named by the answer', async () => {
    const answer = await send(server, { 'A2A-Extensions': `https://example.com/unknown, ${OPTIONAL}` });
    expect(answer.headers.get('a2a-extensions')).toBe(OPTIONAL);
    expect((await send(server, {})).headers.get('a2a-extensions')).toBeNull();
    const legacy = await send(server, { 'X-A2A-Extensions': OPTIONAL });
    expect(legacy.headers.get('x-a2a-extensions')).toBe(OPTIONAL);
  });

  // [A2A-CAP-4]
  it('that are required must be named', async () => {
    const refused = JSON.parse((await send(strict, {})).text) as { error: { code: number; data: object[] } };
    expect(refused.error).toMatchObject({
      code: -32008,
      data: [{ reason: 'EXTENSION_SUPPORT_REQUIRED', metadata: { extension: REQUIRED } }],
    });
    const answer = await send(strict, { 'A2A-Extensions': REQUIRED });
    expect(JSON.parse(answer.text)).toMatchObject({ result: { task: {} } });
    expect(answer.headers.get('a2a-extensions')).toBe(REQUIRED);
  });
});
