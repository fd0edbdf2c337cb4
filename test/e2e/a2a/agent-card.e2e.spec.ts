import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { http } from '../../support/clients/rpc.js';
import { type RunningServer, startServer } from '../../support/processes/start-server.js';

let server: RunningServer;

beforeAll(async () => {
  server = await startServer();
}, 90_000);
afterAll(() => server?.stop());

async function card(headers: Record<string, string> = {}) {
  const answer = await http('GET', `${server.url}/.well-known/agent-card.json`, null, { headers });
  return { ...answer, body: (answer.text === '' ? null : JSON.parse(answer.text)) as Record<string, unknown> };
}

describe('the agent card', () => {
  // [A2A-CARD-1], [A2A-CARD-2]
  it('of v1.0 lists the interfaces with 1.0 first, and is read without a credential', async () => {
    const { status, body, headers } = await card({ 'A2A-Version': '1.0' });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^application\/json\b/);
    expect(body).toMatchObject({
      name: 'demo',
      supportedInterfaces: [
        { url: `${server.url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
        { url: `${server.url}/a2a/v1`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
        { url: `${server.url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
        { url: `${server.url}/a2a`, protocolBinding: 'HTTP+JSON', protocolVersion: '0.3' },
      ],
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
      skills: [{ id: 'upper-case' }],
    });
    expect(body).not.toHaveProperty('url');
  });

  it.each([undefined, '', '0.3'])('of v0.3 answers the version %p, and is pure', async (version) => {
    const { status, body } = await card(version === undefined ? {} : { 'A2A-Version': version });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      protocolVersion: '0.3.0',
      url: `${server.url}/a2a`,
      preferredTransport: 'JSONRPC',
      // Clients of 0.3 put /v1 behind the address themselves.
      additionalInterfaces: ['JSONRPC', 'HTTP+JSON'].map((transport) => ({ url: `${server.url}/a2a`, transport })),
    });
    expect(body).not.toHaveProperty('supportedInterfaces');
  });

  // [A2A-CARD-3]
  it('can be cached for each version by itself', async () => {
    const etags = new Set<string>();
    for (const version of ['1.0', '0.3']) {
      const { headers } = await card({ 'A2A-Version': version });
      expect(headers.get('vary')).toBe('A2A-Version');
      expect(headers.get('cache-control')).toMatch(/max-age=\d+/);
      expect(Date.parse(headers.get('last-modified')!)).toBeLessThanOrEqual(Date.now());
      const etag = headers.get('etag')!;
      etags.add(etag);
      for (const match of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const again = await card({ 'A2A-Version': version, 'If-None-Match': match });
        expect(again).toMatchObject({ status: 304, text: '' });
        expect(again.headers.get('etag')).toBe(etag);
        expect(again.headers.get('vary')).toBe('A2A-Version');
      }
      expect((await card({ 'A2A-Version': version, 'If-None-Match': '"other"' })).status).toBe(200);
    }
    expect(etags.size).toBe(2);
  });

  it('of a version that does not exist is refused', async () => {
    const { status, text, headers } = await card({ 'A2A-Version': '2.0' });
    expect(status).toBe(400);
    expect(text).toMatch(/A2A version \\?"2\.0\\?" is not supported/);
    expect(headers.get('vary')).toBe('A2A-Version');
  });
});

it('answers the 1.0 card by default, with another base URL, when it is told to', async () => {
  const env = { ACTA_CARD_VERSION: '1.0', ACTA_PUBLIC_URL: 'https://agents.example.com/acta/' };
  const other = await startServer({ env });
  const { text } = await http('GET', `${other.url}/.well-known/agent-card.json`, null);
  const { supportedInterfaces } = JSON.parse(text) as { supportedInterfaces: { url: string }[] };
  const root = 'https://agents.example.com/acta/a2a';
  expect(supportedInterfaces.map(({ url }) => url)).toEqual([root, `${root}/v1`, root, root]);
  await other.stop();
}, 90_000);

it('/health tells what the server speaks and can do, without a credential', async () => {
  const { status, text } = await http('GET', `${server.url}/health`, null);
  expect(status).toBe(200);
  expect(JSON.parse(text)).toMatchObject({
    status: 'ok',
    protocolVersions: ['1.0', '0.3'],
    bindings: ['JSONRPC', 'HTTP+JSON', 'REST'],
    capabilities: expect.any(Object),
    agents: [{ name: 'demo' }],
    database: 'ok',
  });
  for (const probe of ['live', 'ready']) {
    expect((await http('GET', `${server.url}/health/${probe}`, null)).status).toBe(200);
  }
});
