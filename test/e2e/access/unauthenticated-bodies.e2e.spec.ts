import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { connect, type Socket } from 'node:net';
import { readConfig } from '@app/config';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type RunningServer, startServer } from '../../../apps/server/src/server.js';
import { createTestDatabase, type TestDatabase } from '../../support/database/test-database.js';
import { createDataDir } from '../../support/processes/acta-process.js';
import { environmentFor } from '../../support/processes/start-server.js';

const GB = 1024 ** 3;
const MAX_READ_BYTES = 64 * 1024;
const CHUNK = 'x'.repeat(MAX_READ_BYTES);

const RPC_ERROR = { jsonrpc: '2.0', id: null, error: expect.objectContaining({ code: expect.any(Number) }) };
const HTTP_JSON_ERROR = { error: expect.objectContaining({ code: 401, status: 'UNAUTHENTICATED' }) };
const REST_ERROR = { error: expect.stringContaining('bearer token') };
const API_ERROR = { ...REST_ERROR, kind: 'Unauthenticated', details: {} };

/** The wrong token has the form of a token, so the server looks for its key in the database. */
const CREDENTIALS = [
  ['no token', ''],
  ['a wrong token', `Authorization: Bearer acta_${'x'.repeat(43)}\r\n`],
] as const;
const FRAMINGS = [
  ['Content-Length', `Content-Length: ${GB}\r\n`, CHUNK],
  ['chunks', 'Transfer-Encoding: chunked\r\n', `${CHUNK.length.toString(16)}\r\n${CHUNK}\r\n`],
] as const;

/** The connections that the server in this process has accepted, by the port of the client. */
const accepted = new Map<number, Socket>();
const onAccepted = (message: unknown) => {
  const { socket } = message as { socket: Socket };
  accepted.set(socket.remotePort!, socket);
};
let database: TestDatabase;
let server: RunningServer;

beforeAll(async () => {
  subscribe('net.server.socket', onAccepted);
  database = await createTestDatabase();
  // In this process, so that the bytes that the server has read can be counted. Behind a proxy, /metrics is not public.
  const env = { ...environmentFor(database.url, await createDataDir()), PORT: '0', ACTA_TRUST_PROXY: '1' };
  server = await startServer(readConfig({ ...env, LOG_LEVEL: 'silent' }));
}, 90_000);
afterAll(async () => {
  await server?.close();
  await database?.drop();
  unsubscribe('net.server.socket', onAccepted);
});

/**
 * Sends a body of 1 GB until the server closes the connection. Returns the response, and how many bytes after the headers the
 * server has read.
 */
async function post(path: string, headers: string, chunk: string) {
  const head = `POST ${path} HTTP/1.1\r\nHost: acta\r\nContent-Type: application/json\r\n${headers}\r\n`;
  const url = new URL(server.url);
  // Continues to send after the server has ended its side.
  const client = connect({ port: Number(url.port), host: url.hostname, allowHalfOpen: true });
  let response = '';
  client.setEncoding('latin1').on('data', (text: string) => (response += text));
  // The server closes while the body is sent.
  client.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => client.once('close', () => resolve()));
  await new Promise((resolve) => client.once('connect', resolve));
  const port = client.localPort!;
  client.write(head);
  // The body arrives while the server looks for the credential in the database.
  while ((accepted.get(port)?.bytesRead ?? 0) < head.length) await new Promise((resolve) => setImmediate(resolve));
  for (let sent = 0; sent < GB && !client.destroyed; sent += chunk.length) {
    if (!client.write(chunk)) await Promise.race([new Promise((resolve) => client.once('drain', resolve)), closed]);
  }
  client.destroy();
  return { response, bodyBytesRead: accepted.get(port)!.bytesRead - head.length };
}

describe('An unauthenticated POST of 1 GB', () => {
  it.each([
    ['/a2a', RPC_ERROR],
    ['/a2a/v1/message:send', HTTP_JSON_ERROR],
    ['/a2a/v1/nothing', HTTP_JSON_ERROR],
    ['/a2a/tasks', REST_ERROR],
    ['/a2a/nothing', REST_ERROR],
    ['/api/tasks', API_ERROR],
    ['/api/tasks/x:resume', API_ERROR],
    ['/api/workers/claim', API_ERROR],
    ['/api/runs/x.y/publish', API_ERROR],
    ['/api/nothing', API_ERROR],
    ['/metrics', REST_ERROR],
    ['/nothing', REST_ERROR],
    ['/agents/demo/a2a', RPC_ERROR],
    ['/agents/demo/a2a/v1/message:send', HTTP_JSON_ERROR],
    ['/agents/demo/a2a/tasks', REST_ERROR],
    ['/agents/nobody/a2a', REST_ERROR],
  ])('to %s gets 401 in the format of its surface, and less than 64 KiB of it are read', async (path, error) => {
    const version = path.includes('/v1/') ? 'A2A-Version: 1.0\r\n' : '';
    const requests = CREDENTIALS.flatMap(([credential, authorization]) =>
      FRAMINGS.map(async ([framing, header, chunk]) => {
        const { response, bodyBytesRead } = await post(path, version + authorization + header, chunk);
        const [head = '', body = ''] = response.split('\r\n\r\n');
        expect([credential, framing, head]).toEqual([credential, framing, expect.stringMatching(/^HTTP\/1\.1 401 /)]);
        expect(head).toMatch(/^www-authenticate: Bearer$/im);
        expect(head).toMatch(/^connection: close$/im);
        expect(JSON.parse(body)).toEqual(error);
        expect(bodyBytesRead).toBeLessThan(MAX_READ_BYTES);
      }),
    );
    await Promise.all(requests);
  });
});
