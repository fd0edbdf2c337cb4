import { describe, expect, it } from '@jest/globals';
import { http } from '../../support/clients/rpc.js';
import { useServer } from '../../support/processes/spec-server.js';
import { startServer } from '../../support/processes/start-server.js';

const server = useServer();

async function getCard(headers: Record<string, string> = {}) {
  const response = await http('GET', `${server.url}/.well-known/agent-card.json`, null, { headers });
  return { ...response, body: (response.text === '' ? null : JSON.parse(response.text)) as Record<string, unknown> };
}

describe('The public agent card', () => {
  // [A2A-CARD-1], [A2A-CARD-2]
  it('lists the interfaces of A2A 1.0 first, without a credential, when A2A-Version is 1.0', async () => {
    const { status, body, headers } = await getCard({ 'A2A-Version': '1.0' });
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

  it.each<[string, Record<string, string>]>([
    ['absent', {}],
    ['empty', { 'A2A-Version': '' }],
    ['0.3', { 'A2A-Version': '0.3' }],
  ])('has the fields of A2A 0.3 and no others when A2A-Version is %s', async (_version, headers) => {
    const { status, body } = await getCard(headers);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      protocolVersion: '0.3.0',
      url: `${server.url}/a2a`,
      preferredTransport: 'JSONRPC',
      // Clients of 0.3 append /v1 to the URL themselves.
      additionalInterfaces: ['JSONRPC', 'HTTP+JSON'].map((transport) => ({ url: `${server.url}/a2a`, transport })),
    });
    expect(body).not.toHaveProperty('supportedInterfaces');
  });

  // [A2A-CARD-3]
  it('has a separate ETag per version, and is not sent again when If-None-Match matches it', async () => {
    const etags = new Set<string>();
    for (const version of ['1.0', '0.3']) {
      const { headers } = await getCard({ 'A2A-Version': version });
      expect(headers.get('vary')).toBe('A2A-Version');
      expect(headers.get('cache-control')).toMatch(/max-age=\d+/);
      expect(Date.parse(headers.get('last-modified')!)).toBeLessThanOrEqual(Date.now());
      const etag = headers.get('etag')!;
      etags.add(etag);
      for (const match of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const cached = await getCard({ 'A2A-Version': version, 'If-None-Match': match });
        expect(cached).toMatchObject({ status: 304, text: '' });
        expect(cached.headers.get('etag')).toBe(etag);
        expect(cached.headers.get('vary')).toBe('A2A-Version');
      }
      expect((await getCard({ 'A2A-Version': version, 'If-None-Match': '"other"' })).status).toBe(200);
    }
    expect(etags.size).toBe(2);
  });

  it('is not available when A2A-Version is not supported', async () => {
    const { status, text, headers } = await getCard({ 'A2A-Version': '2.0' });
    expect(status).toBe(400);
    expect(text).toMatch(/A2A version \\?"2\.0\\?" is not supported/);
    expect(headers.get('vary')).toBe('A2A-Version');
  });

  it('has version 1.0 by default with ACTA_CARD_VERSION=1.0, and the base URL of ACTA_PUBLIC_URL', async () => {
    const env = { ACTA_CARD_VERSION: '1.0', ACTA_PUBLIC_URL: 'https://agents.example.com/acta/' };
    const other = await startServer({ env });
    const { text } = await http('GET', `${other.url}/.well-known/agent-card.json`, null);
    const { supportedInterfaces } = JSON.parse(text) as { supportedInterfaces: { url: string }[] };
    const root = 'https://agents.example.com/acta/a2a';
    expect(supportedInterfaces.map(({ url }) => url)).toEqual([root, `${root}/v1`, root, root]);
    await other.stop();
  }, 90_000);
});

describe('The health check', () => {
  it('lists the protocol versions, bindings, capabilities and agents of the server without a credential', async () => {
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
  });

  it.each(['live', 'ready'])('returns 200 at /health/%s without a credential', async (probe) => {
    expect((await http('GET', `${server.url}/health/${probe}`, null)).status).toBe(200);
  });
});
