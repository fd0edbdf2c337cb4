import { connect } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { rawRequest } from '../../support/clients/raw-http.js';
import { useServer } from '../../support/processes/spec-server.js';
import { TOKEN } from '../../support/processes/start-server.js';

const server = useServer();

const HEADERS = `Authorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\n`;
const head = (line: string, more = '', host = 'Host: acta\r\n') => `${line} HTTP/1.1\r\n${host}${HEADERS}${more}\r\n`;
const withBody = (path: string, body: string, more = '') =>
  head(`POST ${path}`, `Content-Length: ${Buffer.byteLength(body)}\r\n${more}`) + body;
const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} });

const JSON_RPC = { jsonrpc: '2.0', id: null, error: { code: -32600, message: expect.any(String) } };
const HTTP_JSON = { error: { code: expect.any(Number), status: expect.any(String), message: expect.any(String) } };
const REST = { error: expect.any(String) };
const NATIVE = { error: expect.any(String), kind: 'InvalidRequest', details: {} };

/** Paths and the format of their errors. */
const SURFACES = [
  ['/a2a', JSON_RPC],
  ['/agents/demo/a2a', JSON_RPC],
  ['http://acta/a2a', JSON_RPC],
  ['/a2a/v1/message:send', HTTP_JSON],
  ['/a2a/tasks', REST],
  ['/api/tasks/x:resume', NATIVE],
  ['/%61pi/tasks/x:resume', NATIVE],
] as const;

/** Sends requests on one connection, each when the previous one has been sent for a while, and returns all that is received. */
function exchange(first: string, hasResponse: (received: string) => boolean, second: string): Promise<string> {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  let received = '';
  return new Promise((resolve, reject) => {
    const sendSecond = () => void socket.write(second);
    socket.once('connect', () => socket.write(first, () => hasResponse('') && setImmediate(sendSecond)));
    socket.on('data', (data) => {
      const before = hasResponse(received);
      received += data.toString();
      if (!before && hasResponse(received)) sendSecond();
    });
    socket.once('error', reject);
    socket.once('close', () => resolve(received));
  });
}

describe('A request that is not valid HTTP', () => {
  it.each(SURFACES)('has an error in the format of %s without Host', async (path, expected) => {
    const { status, body } = await rawRequest(server.url, [head(`POST ${path}`, 'Content-Length: 0\r\n', '')]);
    expect([status, JSON.parse(body)]).toMatchObject([400, expected]);
    expect(body).toContain('Host is required');
  });

  it.each(SURFACES)('has an error in the format of %s with an invalid header', async (path, expected) => {
    const { status, body } = await rawRequest(server.url, [head(`POST ${path}`, 'X Invalid: 1\r\n')]);
    expect([status, JSON.parse(body)]).toMatchObject([400, expected]);
  });

  it.each(SURFACES)('has an error in the format of %s with an invalid chunk in its body', async (path, expected) => {
    const chunks = [head(`POST ${path}`, 'Transfer-Encoding: chunked\r\n'), '2\r\n{', 'invalid\r\n'];
    const { status, body } = await rawRequest(server.url, chunks);
    expect([status, JSON.parse(body)]).toMatchObject([400, expected]);
  });

  it('has no response if the response to an earlier request has begun', async () => {
    const { id } = await server.caller.send('ask');
    const isOpen = (received: string) => received.includes('data:');
    const received = await exchange(head(`GET /api/tasks/${id}/stream`), isOpen, 'invalid\r\n\r\n');
    expect(received).toContain('HTTP/1.1 200 OK');
    expect(received.match(/HTTP\/1\.1/g)).toHaveLength(1);
  });

  it('has no response if an earlier request has none yet', async () => {
    const message = { messageId: 'pending', role: 'ROLE_USER', parts: [{ text: 'sleep 60s' }] };
    const send = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } });
    expect(await exchange(withBody('/a2a', send), () => true, 'invalid\r\n\r\n')).toBe('');
  });

  it('has an error if the earlier requests of its connection have their responses', async () => {
    const hasResponse = (received: string) => received.includes('totalSize');
    const received = await exchange(withBody('/a2a', LIST), hasResponse, head('GET /api/tasks', 'X Invalid: 1\r\n'));
    expect(received).toContain('HTTP/1.1 200 OK');
    expect(received).toContain('HTTP/1.1 400 Bad Request');
    expect(received).toContain('"kind":"InvalidRequest"');
  });
});

describe('A request with unusual headers', () => {
  it('is rejected if a second Authorization follows more headers than Node reads by default', async () => {
    const many = Array.from({ length: 2_100 }, (_, n) => `x${n}: 1\r\n`).join('');
    const { status } = await rawRequest(server.url, [head('GET /api/tasks', many)]);
    expect(status).toBe(200);
    const second = await rawRequest(server.url, [head('GET /api/tasks', `${many}Authorization: Bearer other\r\n`)]);
    expect([second.status, second.body]).toEqual([
      400,
      expect.stringContaining('Authorization is sent more than once'),
    ]);
  });

  it.each(['Expect: something\r\n', 'Expect: 200-ok\r\n', 'Upgrade: websocket\r\nConnection: Upgrade\r\n'])(
    'has its response although it has %j',
    async (header) => {
      const { status, body } = await rawRequest(server.url, [withBody('/a2a', LIST, header)]);
      expect([status, JSON.parse(body)]).toMatchObject([200, { result: { tasks: expect.any(Array) } }]);
    },
  );

  it('needs no Host with HTTP/1.0', async () => {
    const { status } = await rawRequest(server.url, [`GET /api/tasks HTTP/1.0\r\n${HEADERS}\r\n`]);
    expect(status).toBe(200);
  });
});
