import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DatabaseView } from '../../support/database/database-view.js';
import { call, http, V1Caller } from '../../support/clients/rpc.js';
import { type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';

let server: RunningServer;
/** Behind a proxy, as far as it knows. */
let exposed: RunningServer;
let database: DatabaseView;
let slowHead: Promise<string>;

beforeAll(async () => {
  [server, exposed] = await Promise.all([
    startServer({ env: { ACTA_RATE_LIMIT: '10' } }),
    startServer({ env: { ACTA_TRUST_PROXY: '1' } }),
  ]);
  slowHead = answerTo(server.url, 'GET /health HTTP/1.1\r\nHost: localhost\r\n');
  database = new DatabaseView(exposed.databaseUrl!);
}, 90_000);
afterAll(async () => {
  await database?.close();
  await Promise.all([server?.stop(), exposed?.stop()]);
});

/** What comes back on a connection that sends this much and no more, until the server closes it. */
function answerTo(url: string, head: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname, () => socket.write(head));
  let answer = '';
  socket.on('data', (data) => (answer += data.toString('latin1')));
  return new Promise((resolve, reject) => socket.once('error', reject).once('close', () => resolve(answer)));
}

describe('/metrics', () => {
  it('is there for whoever asks on a loopback address', async () => {
    await new V1Caller(server.url, TOKEN).send('hello');
    const { status, text, headers } = await http('GET', `${server.url}/metrics`, null);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text).toMatch(/^acta_content_skipped_total\{reason="corrupt"\} 0$/m);
    expect(text).toMatch(/^acta_http_request_duration_seconds_count\{surface="a2a-json-rpc",status="2xx"\} 1$/m);
    expect(text).toMatch(/^acta_database_connections\{state="idle"\} \d+$/m);
    expect(text).toMatch(/^process_resident_memory_bytes \d+$/m);
  });

  it('is only for admins of the deployment behind a proxy', async () => {
    const read = async (token: string | null) => (await http('GET', `${exposed.url}/metrics`, token)).status;
    expect(await read(null)).toBe(401);
    expect(await read(await database.createKey({ subject: 'alice' }))).toBe(403);
    expect(await read(await database.createKey({ tenant: 'other', subject: 'root', role: 'admin' }))).toBe(403);
    expect(await read(TOKEN)).toBe(200);
  });
});

describe('a caller', () => {
  it('that asks too often is told when to ask again, and others are served', async () => {
    const database = new DatabaseView(server.databaseUrl!);
    const [greedy, modest] = await Promise.all(['greedy', 'modest'].map((subject) => database.createKey({ subject })));
    await database.close();
    const answers = await Promise.all(Array.from({ length: 30 }, () => call(server.url, greedy!, '1.0', 'ListTasks')));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThan(11);
    expect(Number(refused[0]!.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused[0]!.body.error).toMatchObject({ data: [{ reason: 'RATE_LIMITED' }] });
    expect((await call(server.url, modest!, '1.0', 'ListTasks')).status).toBe(200);
  });

  it('that never finishes the head of its request is cut off', async () => {
    expect(await slowHead).toMatch(/^HTTP\/1\.1 408 /);
  }, 60_000);
});
