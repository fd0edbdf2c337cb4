import { describe, expect, it } from '@jest/globals';
import { http } from '../../support/clients/rpc.js';
import { rawRequest } from '../../support/clients/raw-http.js';
import { useServer } from '../../support/processes/spec-server.js';
import { TOKEN } from '../../support/processes/start-server.js';

const server = useServer();
const BODY = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} });

/** The headers of a valid request, as names and values. */
const HEADERS: readonly [string, string][] = [
  ['Host', 'acta'],
  ['Authorization', `Bearer ${TOKEN}`],
  ['Content-Type', 'application/json'],
  ['A2A-Version', '1.0'],
  ['Content-Length', String(BODY.length)],
];

const request = (line: string, headers: readonly (readonly [string, string])[], body = BODY) =>
  rawRequest(server.url, [
    `${line} HTTP/1.1\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
    body,
  ]);
const post = (path: string, more: readonly (readonly [string, string])[] = []) =>
  request(`POST ${path}`, [...HEADERS, ...more]);
const get = (path: string, more: readonly (readonly [string, string])[] = []) =>
  request(`GET ${path}`, [...HEADERS.slice(0, 2), ...more], '');

/** A body in the format of the surface of each path. */
const SURFACES = [
  ['/a2a', { jsonrpc: '2.0', error: { code: expect.any(Number), message: expect.any(String) } }],
  ['/a2a/v1/message:send', { error: { code: expect.any(Number), status: expect.any(String) } }],
  ['/a2a/tasks', { error: expect.any(String) }],
  ['/api/runs/x/publish', { error: expect.any(String), kind: expect.any(String) }],
] as const;

describe('A request with two headers of one name', () => {
  const DUPLICATES = [
    ['Authorization', `Bearer ${TOKEN}`],
    ['authorization', 'Bearer other'],
    ['Content-Type', 'text/plain'],
    ['Host', 'other'],
    ['A2A-Version', '0.3'],
    ['Idempotency-Key', 'one'],
    ['Last-Event-ID', '1'],
    ['Content-Length', '1'],
  ] as const;

  it.each(DUPLICATES)('is rejected with 400 for %s', async (name, value) => {
    const more = HEADERS.some(([known]) => known.toLowerCase() === name.toLowerCase())
      ? [[name, value] as const]
      : ([
          [name, value],
          [name, `${value}2`],
        ] as const);
    const { status, body } = await post('/a2a', more);
    expect(status).toBe(400);
    expect(JSON.parse(body)).toMatchObject(SURFACES[0][1]);
  });

  it.each(SURFACES)('gets an error in the format of %s', async (path, expected) => {
    const { status, body } = await post(path, [['Content-Type', 'application/json']]);
    expect([status, body]).toEqual([400, expect.stringContaining('Content-Type is sent more than once; send it once')]);
    expect(JSON.parse(body)).toMatchObject(expected);
  });
});

describe('A request that Node rejects', () => {
  it.each(SURFACES)(
    'has an error with 431 in the format of %s if its headers are too large',
    async (path, expected) => {
      const { status, body } = await post(path, [['X-Large', 'x'.repeat(60_000)]]);
      expect(status).toBe(431);
      expect(JSON.parse(body)).toMatchObject(expected);
      expect(body).toContain('49152 bytes; send fewer or shorter headers');
    },
  );

  it.each(SURFACES)('has an error with 400 in the format of %s if a header is invalid', async (path, expected) => {
    const { status, body } = await post(path, [['X Invalid', 'value']]);
    expect(status).toBe(400);
    expect(JSON.parse(body)).toMatchObject(expected);
  });

  it('has an error with 400 if it is not HTTP', async () => {
    const { status, body } = await rawRequest(server.url, ['\u0016\u0003\u0001 hello\r\n\r\n']);
    expect([status, JSON.parse(body)]).toEqual([400, { error: expect.stringContaining('is not valid HTTP/1.1') }]);
  });
});

describe('A request target', () => {
  it.each([
    ['in absolute form', 'http://acta/api/tasks'],
    ['in absolute form with a query', 'http://other.example:99/api/tasks?pageSize=1'],
    ['with an encoded letter', '/%61pi/tasks'],
    ['with encoded letters in both cases', '/api/%74a%73%6B%73'],
    ['with an encoded letter in absolute form', 'http://acta/%61pi/tasks'],
  ])('%s reaches the same route', async (_name, target) => {
    expect(await get(target)).toMatchObject({ status: 200, body: expect.stringContaining('"totalSize"') });
  });

  it.each([
    ['/%61pi/nope', { kind: 'MethodNotFound' }],
    ['http://acta/api/nope', { kind: 'MethodNotFound' }],
    ['/%612%61/v1/nope', { error: expect.objectContaining({ status: 'UNIMPLEMENTED' }) }],
    ['/api/tasks/%2e%2e', { kind: 'TaskNotFound' }],
  ])('%s has an error in the format of its surface', async (target, expected) => {
    const { status, body } = await get(target);
    expect([status, JSON.parse(body)]).toEqual([404, expect.objectContaining(expected)]);
  });

  it('with an encoded slash is not a different path', async () => {
    expect((await get('/api%2Ftasks')).status).toBe(404);
  });
});

describe('HEAD', () => {
  it.each<[string, string]>([
    ['/api/tasks/{id}/stream', '1.0'],
    ['/a2a/tasks/{id}/stream', '1.0'],
    ['/agents/demo/a2a/tasks/{id}/stream', '1.0'],
    ['/a2a/v1/tasks/{id}:subscribe', '1.0'],
    ['/a2a/v1/tasks/{id}:subscribe', '0.3'],
  ])('of the live stream %s of A2A %s ends at once', async (path, version) => {
    const { id } = await server.caller.send('ask');
    const headOf = (task: string) =>
      http('HEAD', server.url + path.replace('{id}', task), TOKEN, { headers: { 'A2A-Version': version } });
    const { status, text, headers } = await headOf(id);
    expect([status, text, headers.get('content-type')]).toEqual([200, '', 'text/event-stream']);
    const missing = await headOf('nope');
    expect(missing.status).toBe(404);
  });

  it.each(['/a2a/v1/tasks/{id}', '/a2a/v1/tasks', '/api/tasks/{id}', '/a2a/tasks/{id}', '/a2a/agent'])(
    'of %s has the headers of GET and no body',
    async (path) => {
      const { id } = await server.caller.send('hello');
      const options = { headers: { 'A2A-Version': '1.0' } };
      const [head, get] = [
        await http('HEAD', server.url + path.replace('{id}', id), TOKEN, options),
        await http('GET', server.url + path.replace('{id}', id), TOKEN, options),
      ];
      expect([head.status, head.text]).toEqual([200, '']);
      for (const name of ['content-type', 'content-length', 'vary']) {
        expect(head.headers.get(name)).toBe(get.headers.get(name));
      }
    },
  );
});
