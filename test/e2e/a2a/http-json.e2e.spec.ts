import { randomUUID } from 'node:crypto';
import type { Json, JsonObject } from '@app/domain';
import { describe, expect, it } from '@jest/globals';
import { rawRequest } from '../../support/clients/raw-http.js';
import {
  http,
  type HttpResponse,
  httpSendParamsV03,
  type SendOptions,
  sendParams,
  type WireTask,
} from '../../support/clients/rpc.js';
import { SseReader } from '../../support/clients/sse-reader.js';
import { useServer } from '../../support/processes/spec-server.js';
import { TOKEN } from '../../support/processes/start-server.js';

const server = useServer();

type Version = '1.0' | '0.3';
const VERSIONS: Version[] = ['1.0', '0.3'];

interface Options {
  readonly body?: Json;
  readonly headers?: Record<string, string>;
  readonly token?: string | null;
}

function request(version: Version, verb: string, path: string, { body, headers, token = TOKEN }: Options = {}) {
  return http(verb, `${server.url}/a2a/v1/${path}`, token, {
    headers: { 'A2A-Version': version, ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

const parsed = <T = JsonObject>({ text }: HttpResponse) => JSON.parse(text) as T;

const sendBody = (version: Version, text: string, options: SendOptions = {}): JsonObject =>
  version === '1.0' ? sendParams(text, options) : httpSendParamsV03(text, options);

async function send(version: Version, text: string, options: SendOptions = {}): Promise<WireTask> {
  const response = await request(version, 'POST', 'message:send', { body: sendBody(version, text, options) });
  return parsed<{ task: WireTask }>(response).task;
}

/** Sends without waiting for the outcome. ProtoJSON omits false, which is how v0.3 requests this. */
const start = (version: Version, text: string): Promise<WireTask> =>
  send(version, text, { configuration: version === '1.0' ? { returnImmediately: true } : {} });

/** Returns the status of an error response, its code in the format of the version and the reason in its ErrorInfo. */
function errorOf(version: Version, response: HttpResponse) {
  const { status } = response;
  if (version === '1.0') {
    const { error } = parsed<{ error: { code: number; status: string; message: string; details: JsonObject[] } }>(
      response,
    );
    expect(error.code).toBe(status);
    return { status, name: error.status, reason: error.details[0]?.['reason'] };
  }
  const { code, message, data } = parsed<{ code: number; message: string; data: JsonObject }>(response);
  expect(message).not.toBe('');
  return { status, name: code, reason: data['reason'] };
}

describe.each(VERSIONS)('The HTTP+JSON binding of A2A %s', (version) => {
  it('returns plain JSON in the format of its version', async () => {
    const response = await request(version, 'POST', 'message:send', { body: sendBody(version, 'hello') });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^application\/json\b/);
    expect(response.headers.get('vary')).toBe('A2A-Version');
    const { task } = parsed<{ task: JsonObject }>(response);
    expect(task).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: [{ text: 'HELLO' }] }],
    });
    expect(task).not.toHaveProperty('kind');
    const withoutHistory = await request(version, 'GET', `tasks/${task['id'] as string}?historyLength=0`);
    expect(parsed(withoutHistory)).not.toHaveProperty('history');
  });

  it('accepts application/a2a+json, and returns it if the Accept header requests it', async () => {
    const headers = { 'Content-Type': 'application/a2a+json', Accept: 'application/a2a+json' };
    const response = await request(version, 'POST', 'message:send', { body: sendBody(version, 'hello'), headers });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^application\/a2a\+json\b/);
    const missing = await request(version, 'GET', `tasks/${randomUUID()}`, { headers });
    expect(missing.status).toBe(404);
    expect(missing.headers.get('content-type')).toMatch(/^application\/a2a\+json\b/);
  });

  it('rejects other media types with 415, and JSON-RPC rejects application/a2a+json', async () => {
    const body = sendBody(version, 'hello');
    const text = await request(version, 'POST', 'message:send', { body, headers: { 'Content-Type': 'text/plain' } });
    expect(errorOf(version, text)).toMatchObject({ status: 415, reason: 'CONTENT_TYPE_NOT_SUPPORTED' });
    const jsonRpc = await http('POST', `${server.url}/a2a`, TOKEN, {
      headers: { 'A2A-Version': version, 'Content-Type': 'application/a2a+json' },
      body: '{}',
    });
    expect(jsonRpc.status).toBe(415);
  });

  // [A2A-HTTP-3]
  it.each(['GET', 'POST'])(
    'opens a subscription with %s, and sends each update without an envelope and with the task version as its id',
    async (verb) => {
      const { id } = await start(version, 'chunks 3 sleep 1s');
      const response = await fetch(`${server.url}/a2a/v1/tasks/${id}:subscribe`, {
        method: verb,
        headers: { Authorization: `Bearer ${TOKEN}`, 'A2A-Version': version },
      });
      expect(response.headers.get('content-type')).toBe('text/event-stream');
      const text = await response.text();
      const frames = text.split('\n\n').filter((frame) => frame.includes('data: '));
      const updates = frames.map((frame) => JSON.parse(/^data: (.*)$/m.exec(frame)![1]!) as JsonObject);
      expect(updates[0]).toMatchObject({ task: { id } });
      expect(updates.at(-1)).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } });
      for (const update of updates) expect(update).not.toHaveProperty('jsonrpc');
      const ids = frames.map((frame) => Number(/^id: (\d+)$/m.exec(frame)![1]));
      expect(ids).toEqual([...ids].sort((a, b) => a - b));
    },
  );

  it('resumes a subscription after the event in Last-Event-ID', async () => {
    const { id } = await send(version, 'chunks 2');
    const url = `${server.url}/a2a/v1/tasks/${id}:subscribe`;
    const reader = await SseReader.open(url, TOKEN, { 'A2A-Version': version, 'Last-Event-ID': '2' });
    const events = await reader.remaining();
    expect(events.map((event) => Number(event.id))[0]).toBe(2);
    expect(JSON.parse(events.at(-1)!.data)).toMatchObject({
      statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } },
    });
  });

  it('rejects a subscription with 400 and no stream if the task has ended or Last-Event-ID is invalid', async () => {
    const { id } = await send(version, 'chunks 2');
    const ended = await request(version, 'GET', `tasks/${id}:subscribe`);
    expect(ended.headers.get('content-type')).toMatch(/^application\/json\b/);
    expect(ended.status).toBe(400);
    const invalid = await request(version, 'GET', `tasks/${id}:subscribe`, { headers: { 'Last-Event-ID': 'x' } });
    expect(errorOf(version, invalid)).toMatchObject({ status: 400, reason: 'INVALID_PARAMS' });
  });

  it.each<[string, Options]>([
    ['without a body', {}],
    ['with an empty object as its body', { body: {} }],
    ['without a body but with a media type', { headers: { 'Content-Type': 'application/json' } }],
  ])('accepts a cancel %s', async (_body, options) => {
    const { id } = await start(version, 'sleep 60s');
    const response = await request(version, 'POST', `tasks/${id}:cancel`, options);
    const canceled = version === '1.0' ? 'TASK_STATE_CANCELED' : 'TASK_STATE_CANCELLED';
    expect(parsed<WireTask>(response).status.state).toBe(canceled);
  });

  it('serves paths with the tenant of the credential, and rejects paths with a different tenant', async () => {
    const { id } = await send(version, 'hello');
    expect((await request(version, 'GET', `default/tasks/${id}`)).text).toBe(
      (await request(version, 'GET', `tasks/${id}`)).text,
    );
    const sent = await request(version, 'POST', 'default/message:send', { body: sendBody(version, 'hello') });
    expect(sent.status).toBe(200);
    const PATHS: [string, string, Json?][] = [
      ['POST', 'message:send', sendBody(version, 'hello')],
      ['POST', 'message:stream', sendBody(version, 'hello')],
      ['GET', `tasks/${id}`],
      ['POST', `tasks/${id}:cancel`],
      ['GET', `tasks/${id}:subscribe`],
      ['GET', version === '1.0' ? 'extendedAgentCard' : 'card'],
    ];
    for (const [verb, path, body] of PATHS) {
      const response = await request(version, verb, `other/${path}`, body === undefined ? {} : { body });
      expect([path, errorOf(version, response)]).toEqual([
        path,
        { status: 400, name: version === '1.0' ? 'INVALID_ARGUMENT' : -32602, reason: 'INVALID_PARAMS' },
      ]);
    }
  });

  it('returns 404 for an unknown task id with reserved characters, and 400 for an id that is not UTF-8', async () => {
    const name = version === '1.0' ? 'NOT_FOUND' : -32001;
    for (const id of ['a:cancel', 'a/b', 'a%b', 'ü 1', 'x:subscribe', '?#&', '../..', "'; drop table task"]) {
      const encoded = encodeURIComponent(id);
      for (const [verb, path] of [
        ['GET', `tasks/${encoded}`],
        ['POST', `tasks/${encoded}:cancel`],
        ['GET', `tasks/${encoded}:subscribe`],
      ] as const) {
        expect([path, errorOf(version, await request(version, verb, path))]).toEqual([
          path,
          { status: 404, name, reason: 'TASK_NOT_FOUND' },
        ]);
      }
    }
    const invalid = await rawRequest(server.url, [
      `GET /a2a/v1/tasks/%ff HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nA2A-Version: ${version}\r\n\r\n`,
    ]);
    expect(invalid.status).toBe(400);
    expect(JSON.parse(invalid.body)).toHaveProperty(version === '1.0' ? 'error.details' : 'data');
  });

  // [A2A-HTTP-2]
  it('returns 404 for an unknown path, and 405 with the allowed methods for an unsupported method', async () => {
    const missing = { status: 404, name: version === '1.0' ? 'UNIMPLEMENTED' : -32601, reason: 'METHOD_NOT_FOUND' };
    const absent = version === '1.0' ? ['card'] : ['tasks', 'extendedAgentCard'];
    for (const path of ['', 'nothing', 'tasks/a/b', 'message:sent', 'a/b/tasks/c', ...absent]) {
      expect([path, errorOf(version, await request(version, 'GET', path))]).toEqual([path, missing]);
    }
    for (const [verb, path, allow] of [
      ['GET', 'message:send', 'POST'],
      ['DELETE', 'tasks/x', 'GET'],
      ['GET', 'tasks/x:cancel', 'POST'],
      ['PUT', 'tasks/x/pushNotificationConfigs', 'GET, POST'],
      ['PATCH', 'tasks/x/pushNotificationConfigs/y', 'GET, DELETE'],
    ] as const) {
      const response = await request(version, verb, path);
      expect([path, errorOf(version, response)]).toEqual([path, { ...missing, status: 405 }]);
      expect(response.headers.get('allow')).toBe(allow);
    }
  });

  it('rejects a request without a credential with 401 and a challenge', async () => {
    const response = await request(version, 'GET', 'tasks/x', { token: null });
    expect(errorOf(version, response)).toMatchObject({ status: 401, reason: 'UNAUTHENTICATED' });
    expect(response.headers.get('www-authenticate')).toMatch(/^Bearer/);
  });
});

describe('The HTTP+JSON binding', () => {
  it('rejects an unsupported version in the format of A2A 1.0', async () => {
    const response = await request('2.0' as Version, 'GET', 'tasks/x');
    expect(errorOf('1.0', response)).toEqual({
      status: 400,
      name: 'FAILED_PRECONDITION',
      reason: 'VERSION_NOT_SUPPORTED',
    });
  });

  // [A2A-HTTP-4]
  it('lists the tasks that match the query in A2A 1.0, and rejects an invalid query', async () => {
    const contextId = randomUUID();
    const task = await send('1.0', 'hello', { message: { contextId } });
    const list = async (query: string) =>
      parsed<{ tasks: WireTask[] }>(await request('1.0', 'GET', `tasks?${query}`)).tasks;
    const filters = `contextId=${contextId}&pageSize=5&statusTimestampAfter=2020-01-01T00:00:00Z`;
    expect((await list(`${filters}&status=completed`)).map(({ id }) => id)).toEqual([task.id]);
    expect(await list(`${filters}&status=TASK_STATE_FAILED`)).toEqual([]);
    expect((await list(`${filters}&includeArtifacts=true`))[0]?.artifacts).toHaveLength(1);
    for (const query of ['pageSize=0', 'pageSize=ten', 'status=done', 'includeArtifacts=1', 'pageSize=1&pageSize=2']) {
      expect(errorOf('1.0', await request('1.0', 'GET', `tasks?${query}`)).reason).toBe('INVALID_PARAMS');
    }
  });
});
