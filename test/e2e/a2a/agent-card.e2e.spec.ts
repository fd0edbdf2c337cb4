import { describe, expect, it } from '@jest/globals';
import { http } from '../../support/clients/rpc.js';
import { expectV03 } from '../../support/clients/schemas.js';
import { useServer } from '../../support/processes/spec-server.js';
import { startServer } from '../../support/processes/start-server.js';

const server = useServer();

async function getCard(headers: Record<string, string> = {}, url = server.url) {
  const response = await http('GET', `${url}/.well-known/agent-card.json`, null, { headers });
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
        { url: `${server.url}/a2a/http-json`, protocolBinding: 'HTTP+JSON', protocolVersion: '0.3' },
      ],
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
      skills: [{ id: 'upper-case' }],
    });
    expect(body).not.toHaveProperty('url');
  });

  it('has the fields of A2A 0.3 and no others when A2A-Version is 0.3', async () => {
    const { status, body } = await getCard({ 'A2A-Version': '0.3' });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      protocolVersion: '0.3.0',
      url: `${server.url}/a2a`,
      preferredTransport: 'JSONRPC',
      // Clients of 0.3 append /v1 to the URL themselves.
      additionalInterfaces: [
        { url: `${server.url}/a2a`, transport: 'JSONRPC' },
        { url: `${server.url}/a2a/http-json`, transport: 'HTTP+JSON' },
      ],
    });
    expect(Object.keys(body)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/supportedInterfaces|signatures/)]),
    );
  });

  it.each<[string, Record<string, string>]>([
    ['absent', {}],
    ['empty', { 'A2A-Version': '' }],
  ])(
    'has the fields of both versions, with the interfaces of 1.0 first, when A2A-Version is %s',
    async (_is, headers) => {
      const [{ status, body }, legacy, current] = await Promise.all([
        getCard(headers),
        getCard({ 'A2A-Version': '0.3' }),
        getCard({ 'A2A-Version': '1.0' }),
      ]);
      expect(status).toBe(200);
      expectV03('AgentCard', body);
      expect(body).toMatchObject(legacy.body);
      expect(body['supportedInterfaces']).toEqual(current.body['supportedInterfaces']);
    },
  );

  // [A2A-CARD-3]
  it('has a separate ETag per representation, and is not sent again when If-None-Match matches it', async () => {
    const etags = new Set<string>();
    for (const version of ['1.0', '0.3', '']) {
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
    expect(etags.size).toBe(3);
    for (const version of ['1.0', '0.3', '']) {
      const others = [...etags].filter((_etag, index) => ['1.0', '0.3', ''][index] !== version);
      const response = await getCard({ 'A2A-Version': version, 'If-None-Match': others.join(', ') });
      expect([version, response.status]).toEqual([version, 200]);
    }
  });

  it('keeps its ETag after a restart with the same secret', async () => {
    const start = () =>
      startServer({ databaseUrl: server.databaseUrl, env: { ACTA_PUBLIC_URL: 'https://acta.example' } });
    const etags = new Set<string | null>();
    for (let starts = 0; starts < 2; starts++) {
      const other = await start();
      etags.add((await getCard({}, other.url)).headers.get('etag'));
      await other.stop();
    }
    expect(etags.size).toBe(1);
  }, 90_000);

  it.each(['2.0', '1', '0.3.0', '1.0, 0.3', 'latest'])('is not available when A2A-Version is "%s"', async (version) => {
    const { status, text, headers } = await getCard({ 'A2A-Version': version });
    expect(status).toBe(400);
    const { error } = JSON.parse(text) as { error: string };
    expect(error).toBe(`A2A version ${JSON.stringify(version)} is not supported; send A2A-Version: 1.0 or 0.3`);
    expect(headers.get('vary')).toBe('A2A-Version');
  });

  it('has the base URL of ACTA_PUBLIC_URL', async () => {
    const other = await startServer({ env: { ACTA_PUBLIC_URL: 'https://agents.example.com/acta/' } });
    const { body } = await getCard({}, other.url);
    const root = 'https://agents.example.com/acta/a2a';
    expect(body['url']).toBe(root);
    const urls = (body['supportedInterfaces'] as { url: string }[]).map(({ url }) => url);
    expect(urls).toEqual([root, `${root}/v1`, root, `${root}/http-json`]);
    await other.stop();
  }, 90_000);

  it.each(['0.3', '1.0'])(
    'is that of A2A %s without A2A-Version if ACTA_CARD_VERSION names it',
    async (version) => {
      const other = await startServer({ env: { ACTA_CARD_VERSION: version } });
      const requests: Record<string, string>[] = [{}, { 'A2A-Version': '' }, { 'A2A-Version': version }];
      const texts = await Promise.all(requests.map(async (headers) => (await getCard(headers, other.url)).text));
      expect(new Set(texts).size).toBe(1);
      expect(texts[0]).not.toContain(version === '1.0' ? '"preferredTransport"' : '"supportedInterfaces"');
      await other.stop();
    },
    90_000,
  );
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
