import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DatabaseView } from '../../support/database/database-view.js';
import { call, http, V1Caller } from '../../support/clients/rpc.js';
import { type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';

let server: RunningServer;
/** Configured as a server behind a proxy. */
let proxied: RunningServer;
let database: DatabaseView;
let slowResponse: Promise<string>;

beforeAll(async () => {
  [server, proxied] = await Promise.all([
    startServer({ env: { ACTA_RATE_LIMIT: '10' } }),
    startServer({ env: { ACTA_TRUST_PROXY: '1' } }),
  ]);
  slowResponse = responseTo(server.url, 'GET /health HTTP/1.1\r\nHost: localhost\r\n');
  database = new DatabaseView(proxied.databaseUrl!);
}, 90_000);
afterAll(async () => {
  await database?.close();
  await Promise.all([server?.stop(), proxied?.stop()]);
});

/** Sends the bytes and nothing else on a connection, and returns the response when the server has closed it. */
function responseTo(url: string, head: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname, () => socket.write(head));
  let response = '';
  socket.on('data', (data) => (response += data.toString('latin1')));
  return new Promise((resolve, reject) => socket.once('error', reject).once('close', () => resolve(response)));
}

describe('GET /metrics', () => {
  it('requires no credential on a loopback address', async () => {
    await new V1Caller(server.url, TOKEN).send('hello');
    const { status, text, headers } = await http('GET', `${server.url}/metrics`, null);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text).toMatch(/^acta_content_skipped_total\{reason="corrupt"\} 0$/m);
    expect(text).toMatch(/^acta_http_request_duration_seconds_count\{surface="a2a-json-rpc",status="2xx"\} 1$/m);
    expect(text).toMatch(/^acta_database_connections\{state="idle"\} \d+$/m);
    expect(text).toMatch(/^acta_webhook_attempts_total\{outcome="delivered"\} 0$/m);
    expect(text).toMatch(/^acta_webhook_dead_total\{reason="rejected"\} 0$/m);
    expect(text).toMatch(/^acta_webhook_deliveries\{state="dead"\} 0$/m);
    expect(text).toMatch(/^process_resident_memory_bytes \d+$/m);
  });

  it('requires an admin of the default tenant behind a proxy', async () => {
    const read = async (token: string | null) => (await http('GET', `${proxied.url}/metrics`, token)).status;
    expect(await read(null)).toBe(401);
    expect(await read(await database.createKey({ subject: 'alice' }))).toBe(403);
    expect(await read(await database.createKey({ tenant: 'other', subject: 'root', role: 'admin' }))).toBe(403);
    expect(await read(TOKEN)).toBe(200);
  });

  it('can be read with a key for metrics, which can do nothing else', async () => {
    const key = await database.createKey({ subject: 'prometheus', role: 'metrics', rings: [] });
    expect((await http('GET', `${proxied.url}/metrics`, key)).status).toBe(200);
    for (const [method, path] of [
      ['POST', '/a2a'],
      ['GET', '/a2a/v1/tasks'],
      ['GET', '/a2a/agent'],
      ['POST', '/a2a/tasks'],
      ['GET', '/api/tasks'],
      ['GET', '/api/audit/log'],
      ['POST', '/api/workers/claim'],
      ['GET', '/api/nope'],
    ] as const) {
      const { status } = await http(method, proxied.url + path, key, method === 'POST' ? { body: '{}' } : {});
      expect([path, status]).toEqual([path, 403]);
    }
    await expect(
      database.createKey({ tenant: 'other', subject: 'prometheus', role: 'metrics', rings: [] }),
    ).rejects.toThrow('belongs to the tenant "default"');
    await expect(database.createKey({ subject: 'prometheus', role: 'metrics' })).rejects.toThrow('has no rings');
  });
});

describe('The server', () => {
  it('returns 429 with Retry-After to a caller above its rate limit, and serves other callers', async () => {
    const database = new DatabaseView(server.databaseUrl!);
    const [limited, other] = await Promise.all(['limited', 'other'].map((subject) => database.createKey({ subject })));
    await database.close();
    const responses = await Promise.all(
      Array.from({ length: 30 }, () => call(server.url, limited!, '1.0', 'ListTasks')),
    );
    const rejected = responses.filter(({ status }) => status === 429);
    expect(rejected.length).toBeGreaterThan(0);
    expect(rejected.length).toBeLessThan(11);
    expect(Number(rejected[0]!.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(rejected[0]!.body.error).toMatchObject({ data: [{ reason: 'RATE_LIMITED' }] });
    expect((await call(server.url, other!, '1.0', 'ListTasks')).status).toBe(200);
  });

  it('returns 408 to a client that does not complete its request headers', async () => {
    expect(await slowResponse).toMatch(/^HTTP\/1\.1 408 /);
  }, 60_000);
});
