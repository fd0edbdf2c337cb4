import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { http, type HttpResponse } from '../../support/clients/rpc.js';
import { rawRequest } from '../../support/clients/raw-http.js';
import { useServer } from '../../support/processes/spec-server.js';
import { TOKEN } from '../../support/processes/start-server.js';

const server = useServer();
let before: Record<string, number>;
let outputLength: number;

beforeEach(async () => {
  outputLength = server.process.output.length;
  before = await server.database.rowCounts();
});
afterEach(async () => {
  expect(await server.database.rowCounts()).toEqual(before);
  expect(server.process.output.slice(outputLength)).not.toMatch(/"level":"(error|fatal)"/);
});

const BODY_LIMIT = 1_500_000;

function post(body: string | Uint8Array, headers: Record<string, string> = {}, path = '/a2a'): Promise<HttpResponse> {
  return http('POST', `${server.url}${path}`, TOKEN, { body, headers: { 'A2A-Version': '1.0', ...headers } });
}

/** Returns a call with `params`, which are JSON text. */
const callText = (params: string, method = 'SendMessage') =>
  `{"jsonrpc":"2.0","id":7,"method":"${method}","params":${params}}`;
const messageText = (parts: string, more = '') =>
  callText(`{"message":{"messageId":"m","role":"ROLE_USER","parts":${parts}${more}}}`);
const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
const bytes = (...parts: (string | number)[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from([part]))));

describe('JSON-RPC', () => {
  const CASES: [name: string, body: string | Uint8Array, code: number, id: unknown][] = [
    ['an empty body', '', -32700, null],
    ['malformed JSON', '{"jsonrpc":"2.0",', -32700, null],
    ['two documents', '{} {}', -32700, null],
    ['NaN', callText('{"pageSize":NaN}', 'ListTasks'), -32700, null],
    ['invalid UTF-8', bytes(messageText('[{"text":"').slice(0, -2), 0xff, '"}]}}}'), -32700, null],
    ['an overlong encoding', bytes('{"jsonrpc":"2.0","id":1,"method":"', 0xc0, 0xaf, '"}'), -32700, null],
    ['a surrogate in UTF-8', bytes('{"jsonrpc":"2.0","id":1,"method":"', 0xed, 0xa0, 0x80, '"}'), -32700, null],
    ['a string', '"SendMessage"', -32600, null],
    ['null', 'null', -32600, null],
    ['a batch', `[${callText('{}', 'ListTasks')}]`, -32600, null],
    ['an empty batch', '[]', -32600, null],
    ['a different version of JSON-RPC', '{"jsonrpc":"1.0","id":7,"method":"ListTasks"}', -32600, 7],
    ['a missing version of JSON-RPC', '{"id":7,"method":"ListTasks"}', -32600, 7],
    ['a notification', '{"jsonrpc":"2.0","method":"ListTasks"}', -32600, null],
    ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"ListTasks"}', -32600, null],
    ['an id that is a fraction', '{"jsonrpc":"2.0","id":1.5,"method":"ListTasks"}', -32600, null],
    [
      'an id of a thousand characters',
      `{"jsonrpc":"2.0","id":"${'x'.repeat(1_000)}","method":"ListTasks"}`,
      -32600,
      null,
    ],
    ['a missing method', '{"jsonrpc":"2.0","id":7}', -32600, 7],
    ['a method that is a number', '{"jsonrpc":"2.0","id":7,"method":1}', -32600, 7],
    ['params that are a list', callText('[]', 'ListTasks'), -32600, 7],
    ['params that are a string', callText('"x"', 'ListTasks'), -32600, 7],
    ['an unknown method', callText('{}', 'DeleteEverything'), -32601, 7],
    ['a method of Object.prototype', callText('{}', 'hasOwnProperty'), -32601, 7],
    ['missing params', '{"jsonrpc":"2.0","id":7,"method":"SendMessage"}', -32602, 7],
    ['a missing message', callText('{}'), -32602, 7],
    ['a message that is a list', callText('{"message":[]}'), -32602, 7],
    ['missing parts', callText('{"message":{"messageId":"m","role":"ROLE_USER"}}'), -32602, 7],
    ['an empty list of parts', messageText('[]'), -32602, 7],
    ['parts that are an object', messageText('{}'), -32602, 7],
    ['an empty part', messageText('[{}]'), -32602, 7],
    ['a part that is null', messageText('[null]'), -32602, 7],
    ['a part of two types', messageText('[{"text":"a","data":1}]'), -32602, 7],
    ['bytes that are not base64', messageText('[{"raw":"§"}]'), -32602, 7],
    [
      'a role of the agent',
      callText('{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"a"}]}}'),
      -32602,
      7,
    ],
    ['an unknown ring', messageText('[{"text":"a"}]', ',"metadata":{"ring":"ring:none"}'), -32602, 7],
    ['a ring that is not a string', messageText('[{"text":"a"}]', ',"metadata":{"ring":["ring:default"]}'), -32602, 7],
    ['an unknown ring in a data part', messageText('[{"data":{"ring":"ring:none"}}]'), -32602, 7],
    ['NUL in the text', messageText('[{"text":"a\\u0000b"}]'), -32602, 7],
    ['NUL in a key', messageText('[{"data":{"a\\u0000b":1}}]'), -32602, 7],
    ['NUL in an id', callText('{"id":"a\\u0000b"}', 'GetTask'), -32602, 7],
    ['a lone surrogate', messageText('[{"text":"a\\ud800b"}]'), -32602, 7],
    ['a lone surrogate in an id', callText('{"id":"\\udfff"}', 'CancelTask'), -32602, 7],
    ['a control character in an id', callText('{"id":"a\\u0007"}', 'GetTask'), -32602, 7],
    ['a number beyond a double', messageText('[{"data":1e999}]'), -32602, 7],
    ['JSON of 200 levels', messageText(`[{"data":${nested(200)}}]`), -32602, 7],
    ['JSON of 100,000 levels', messageText(`[{"data":${nested(100_000)}}]`), -32602, 7],
    ['JSON of 100,000 elements', messageText(`[{"data":[${'1,'.repeat(100_000)}1]}]`), -32602, 7],
    ['an id of 10,000 characters', callText(`{"id":"${'x'.repeat(10_000)}"}`, 'GetTask'), -32602, 7],
    ['a missing task id', callText('{}', 'GetTask'), -32602, 7],
    ['a historyLength of -1', callText('{"id":"x","historyLength":-1}', 'GetTask'), -32602, 7],
    ['a timestamp without a zone', callText('{"statusTimestampAfter":"2025-01-01T00:00:00"}', 'ListTasks'), -32602, 7],
    [
      'a timestamp that does not exist',
      callText('{"statusTimestampAfter":"2025-02-30T00:00:00Z"}', 'ListTasks'),
      -32602,
      7,
    ],
    ['an unknown status', callText('{"status":"DONE"}', 'ListTasks'), -32602, 7],
  ];

  // [A2A-RPC-1]
  it.each(CASES)('rejects %s', async (_name, body, code, id) => {
    const { status, text } = await post(body);
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ jsonrpc: '2.0', id, error: { code, message: expect.any(String) } });
    expect(JSON.parse(text)).not.toHaveProperty('result');
  });

  it.each<[string, Record<string, string>]>([
    ['an empty Content-Type', { 'Content-Type': '' }],
    ['the Content-Type text/plain', { 'Content-Type': 'text/plain' }],
    ['a Content-Type that only starts like JSON', { 'Content-Type': 'application/json+x' }],
    ['a charset other than UTF-8', { 'Content-Type': 'application/json; charset=utf-16' }],
    ['two media types', { 'Content-Type': 'application/json, text/plain' }],
    ['a form', { 'Content-Type': 'application/x-www-form-urlencoded' }],
    ['a Content-Encoding', { 'Content-Encoding': 'gzip' }],
  ])('rejects %s with 415 and the A2A error ContentTypeNotSupported', async (_name, headers) => {
    const body =
      headers['Content-Encoding'] === undefined
        ? messageText('[{"text":"a"}]')
        : gzipSync(messageText('[{"text":"a"}]'));
    const { status, text } = await post(body, headers);
    expect(status).toBe(415);
    expect(JSON.parse(text)).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32005 } });
  });

  // F28
  it('rejects two A2A-Version headers as an unsupported version', async () => {
    const body = callText('{}', 'ListTasks');
    const head = `POST /a2a HTTP/1.1\r\nHost: acta\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
    const response = await rawRequest(server.url, [`${head}\r\nA2A-Version: 1.0\r\nA2A-Version: 1.0\r\n\r\n${body}`]);
    expect(response.head).toMatch(/^vary: A2A-Version$/im);
    expect(JSON.parse(response.body)).toMatchObject({ error: { code: -32009 } });
  });

  it('ignores the keys __proto__ and constructor', async () => {
    const text = callText('{"__proto__":{"pageSize":0},"constructor":{"prototype":{"pageSize":0}}}', 'ListTasks');
    expect(JSON.parse((await post(text)).text)).toMatchObject({ result: { pageSize: 50 } });
    const inherited = callText('{"__proto__":{"id":"x"}}', 'GetTask');
    expect(JSON.parse((await post(inherited)).text)).toMatchObject({ error: { code: -32602 } });
  });
});

describe('A request body', () => {
  const head = (more: string) =>
    `POST /a2a HTTP/1.1\r\nHost: acta\r\nAuthorization: Bearer ${TOKEN}\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\n${more}\r\n\r\n`;
  const tooLarge = { jsonrpc: '2.0', id: null, error: { code: -32600 } };

  it('is rejected with 413 if it exceeds the size limit', async () => {
    const { status, text } = await post(messageText(`[{"text":"${'x'.repeat(BODY_LIMIT)}"}]`));
    expect(status).toBe(413);
    expect(JSON.parse(text)).toMatchObject(tooLarge);
  });

  it('is rejected with 413 before it arrives if its Content-Length exceeds the size limit', async () => {
    const { status, body } = await rawRequest(server.url, [head(`Content-Length: ${BODY_LIMIT + 1}`)]);
    expect(status).toBe(413);
    expect(JSON.parse(body)).toMatchObject(tooLarge);
  });

  it('is rejected with 413 while it arrives in endless chunks', async () => {
    function* endless() {
      yield head('Transfer-Encoding: chunked');
      const chunk = 'x'.repeat(16_384);
      for (;;) yield `${chunk.length.toString(16)}\r\n${chunk}\r\n`;
    }
    const { status, body } = await rawRequest(server.url, endless());
    expect(status).toBe(413);
    expect(JSON.parse(body)).toMatchObject(tooLarge);
  });

  it('is rejected with 401 before it arrives if the credential is missing', async () => {
    const anonymous = head(`Content-Length: ${BODY_LIMIT}`).replace(/Authorization.*\r\n/, '');
    expect((await rawRequest(server.url, [anonymous])).status).toBe(401);
  });

  it('is accepted if its size is exactly the limit, but not with one byte more', async () => {
    const empty = callText('{"contextId":"none","metadata":{"x":""}}', 'ListTasks');
    const padded = empty.replace('"x":""', `"x":"${'x'.repeat(1_300_000)}","y":""`);
    const full = padded.replace('"y":""', `"y":"${'y'.repeat(BODY_LIMIT - padded.length)}"`);
    expect(Buffer.byteLength(full)).toBe(BODY_LIMIT);
    expect(JSON.parse((await post(full)).text)).toMatchObject({ result: { totalSize: 0 } });
    expect((await post(`${full} `)).status).toBe(413);
  });
});

describe('A request that is not valid HTTP', () => {
  const authorization = `Authorization: Bearer ${TOKEN}`;

  it.each([
    ['no request line', 'hello\r\n\r\n'],
    ['a header without a colon', `POST /a2a HTTP/1.1\r\nHost: acta\r\n${authorization}\r\nnonsense\r\n\r\n`],
    [
      'two Content-Length headers',
      `POST /a2a HTTP/1.1\r\nHost: acta\r\n${authorization}\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}`,
    ],
    [
      'a Content-Length and chunks',
      `POST /a2a HTTP/1.1\r\nHost: acta\r\n${authorization}\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    [
      'an invalid chunk size',
      `POST /a2a HTTP/1.1\r\nHost: acta\r\n${authorization}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
    ],
    ['a head of 100 KB', `GET /health HTTP/1.1\r\nHost: acta\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`],
    ['a path that cannot be decoded', `GET /a2a/tasks/%zz HTTP/1.1\r\nHost: acta\r\n${authorization}\r\n\r\n`],
  ])('gets a 4xx response if it has %s', async (_name, text) => {
    const { status } = await rawRequest(server.url, [text]);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
  });
});

describe('The simple REST API', () => {
  it.each([
    ['malformed JSON', 400, '{"input":'],
    ['invalid UTF-8', 400, bytes('{"input":"', 0xff, '"}')],
    ['a list', 400, '[]'],
    ['NUL', 400, '{"input":"\\u0000"}'],
    ['a lone surrogate', 400, '{"input":"\\ud800"}'],
    ['JSON of 1,000 levels', 400, `{"input":${nested(1_000)}}`],
    ['a body over the size limit', 413, `{"input":"${'x'.repeat(BODY_LIMIT)}"}`],
  ])('rejects %s with %i', async (_name, expected, body) => {
    const { status, text } = await post(body, {}, '/a2a/tasks');
    expect(status).toBe(expected);
    expect(JSON.parse(text)).toEqual({ error: expect.any(String) });
  });
});

describe('The server', () => {
  it.each([
    ['GET', '/a2a'],
    ['PUT', '/a2a'],
    ['GET', '/nothing'],
    ['POST', '/a2a/nothing'],
    ['GET', '/a2a/tasks'],
  ])('returns no 5xx for %s %s', async (verb, path) => {
    const { status } = await http(verb, `${server.url}${path}`, TOKEN);
    expect(status).toBeLessThan(500);
  });

  it('still serves valid requests after the invalid ones', async () => {
    expect((await server.caller.list()).totalSize).toBe(0);
  });
});
