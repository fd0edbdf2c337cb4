import { randomUUID } from 'node:crypto';
import type { Json, JsonObject } from '@app/domain';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { rawRequest } from '../../support/clients/raw-http.js';
import { http, type HttpResponse, type WireTask } from '../../support/clients/rpc.js';
import { SseReader } from '../../support/clients/sse-reader.js';
import { type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';

let server: RunningServer;

beforeAll(async () => {
  server = await startServer();
}, 90_000);
afterAll(() => server?.stop());

type Version = '1.0' | '0.3';
const VERSIONS: Version[] = ['1.0', '0.3'];

interface Options {
  readonly body?: Json;
  readonly headers?: Record<string, string>;
  readonly token?: string | null;
}

function ask(version: Version, verb: string, path: string, { body, headers, token = TOKEN }: Options = {}) {
  return http(verb, `${server.url}/a2a/v1/${path}`, token, {
    headers: { 'A2A-Version': version, ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

const parsed = <T = JsonObject>({ text }: HttpResponse) => JSON.parse(text) as T;

const said = (version: Version, text: string, configuration?: JsonObject): JsonObject => ({
  message: {
    messageId: randomUUID(),
    role: 'ROLE_USER',
    [version === '1.0' ? 'parts' : 'content']: [{ text }],
  },
  ...(configuration === undefined ? {} : { configuration }),
});

async function send(version: Version, text: string, configuration?: JsonObject): Promise<WireTask> {
  return parsed<{ task: WireTask }>(
    await ask(version, 'POST', 'message:send', { body: said(version, text, configuration) }),
  ).task;
}

/** Sends without waiting; what is false is left out of v0.3's bodies. */
const start = (version: Version, text: string): Promise<WireTask> =>
  send(version, text, version === '1.0' ? { returnImmediately: true } : {});

/** The error in the shape of the version: its code there, and the reason in its ErrorInfo. */
function refusal(version: Version, answer: HttpResponse) {
  if (version === '1.0') {
    const { error } = parsed<{ error: { code: number; status: string; message: string; details: JsonObject[] } }>(
      answer,
    );
    expect(error.code).toBe(answer.status);
    return { status: answer.status, name: error.status, reason: error.details[0]?.['reason'] };
  }
  const { code, message, data } = parsed<{ code: number; message: string; data: JsonObject[] }>(answer);
  expect(message).not.toBe('');
  return { status: answer.status, name: code, reason: data[0]?.['reason'] };
}

describe.each(VERSIONS)('HTTP+JSON of version %s', (version) => {
  it('answers plain JSON in the shape of the version', async () => {
    const answer = await ask(version, 'POST', 'message:send', { body: said(version, 'hello') });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json\b/);
    expect(answer.headers.get('vary')).toBe('A2A-Version');
    const { task } = parsed<{ task: JsonObject }>(answer);
    expect(task).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: [{ text: 'HELLO' }] }],
    });
    expect(task).not.toHaveProperty('kind');
    expect(parsed(await ask(version, 'GET', `tasks/${task['id'] as string}?historyLength=0`))).not.toHaveProperty(
      'history',
    );
  });

  it('takes and gives application/a2a+json where it is asked for', async () => {
    const headers = { 'Content-Type': 'application/a2a+json', Accept: 'application/a2a+json' };
    const answer = await ask(version, 'POST', 'message:send', { body: said(version, 'hello'), headers });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/^application\/a2a\+json\b/);
    const refused = await ask(version, 'GET', `tasks/${randomUUID()}`, { headers });
    expect(refused.status).toBe(404);
    expect(refused.headers.get('content-type')).toMatch(/^application\/a2a\+json\b/);
  });

  it('refuses other media types, and leaves application/a2a+json to this binding', async () => {
    const body = said(version, 'hello');
    const other = await ask(version, 'POST', 'message:send', { body, headers: { 'Content-Type': 'text/plain' } });
    expect(refusal(version, other)).toMatchObject({ status: 415, reason: 'CONTENT_TYPE_NOT_SUPPORTED' });
    const elsewhere = await http('POST', `${server.url}/a2a`, TOKEN, {
      headers: { 'A2A-Version': version, 'Content-Type': 'application/a2a+json' },
      body: '{}',
    });
    expect(elsewhere.status).toBe(415);
  });

  // [A2A-HTTP-3]
  it.each(['GET', 'POST'])('subscribes by %s, with the task version as the id of each bare update', async (verb) => {
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
  });

  it('resumes after Last-Event-ID, and refuses what has ended before any stream', async () => {
    const { id } = await send(version, 'chunks 2');
    const url = `${server.url}/a2a/v1/tasks/${id}:subscribe`;
    const reader = await SseReader.open(url, TOKEN, { 'A2A-Version': version, 'Last-Event-ID': '2' });
    const events = await reader.remaining();
    expect(events.map((event) => Number(event.id))[0]).toBe(2);
    expect(JSON.parse(events.at(-1)!.data)).toMatchObject({
      statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } },
    });
    const refused = await ask(version, 'GET', `tasks/${id}:subscribe`);
    expect(refused.headers.get('content-type')).toMatch(/^application\/json\b/);
    expect(refused.status).toBe(400);
    const odd = await ask(version, 'GET', `tasks/${id}:subscribe`, { headers: { 'Last-Event-ID': 'x' } });
    expect(refusal(version, odd)).toMatchObject({ status: 400, reason: 'INVALID_PARAMS' });
  });

  it('cancels with an empty body, with an empty object, and without a media type', async () => {
    const cancels = [
      (id: string) => ask(version, 'POST', `tasks/${id}:cancel`),
      (id: string) => ask(version, 'POST', `tasks/${id}:cancel`, { body: {} }),
      (id: string) => ask(version, 'POST', `tasks/${id}:cancel`, { headers: { 'Content-Type': 'application/json' } }),
    ];
    for (const cancel of cancels) {
      const { id } = await start(version, 'sleep 60s');
      const answer = await cancel(id);
      expect(parsed<WireTask>(answer).status.state).toBe(
        version === '1.0' ? 'TASK_STATE_CANCELED' : 'TASK_STATE_CANCELLED',
      );
    }
  });

  it('is served below the tenant of the credential, and below no other', async () => {
    const { id } = await send(version, 'hello');
    expect((await ask(version, 'GET', `default/tasks/${id}`)).text).toBe(
      (await ask(version, 'GET', `tasks/${id}`)).text,
    );
    const sent = await ask(version, 'POST', 'default/message:send', { body: said(version, 'hello') });
    expect(sent.status).toBe(200);
    const PATHS: [string, string, Json?][] = [
      ['POST', 'message:send', said(version, 'hello')],
      ['POST', 'message:stream', said(version, 'hello')],
      ['GET', `tasks/${id}`],
      ['POST', `tasks/${id}:cancel`],
      ['GET', `tasks/${id}:subscribe`],
      ['GET', version === '1.0' ? 'extendedAgentCard' : 'card'],
    ];
    for (const [verb, path, body] of PATHS) {
      const answer = await ask(version, verb, `other/${path}`, body === undefined ? {} : { body });
      expect([path, refusal(version, answer)]).toEqual([
        path,
        { status: 400, name: version === '1.0' ? 'INVALID_ARGUMENT' : -32602, reason: 'INVALID_PARAMS' },
      ]);
    }
  });

  it('takes ids with odd characters for what they are, ids of no task', async () => {
    const name = version === '1.0' ? 'NOT_FOUND' : -32001;
    for (const id of ['a:cancel', 'a/b', 'a%b', 'ü 1', 'x:subscribe', '?#&', '../..', "'; drop table task"]) {
      const encoded = encodeURIComponent(id);
      for (const [verb, path] of [
        ['GET', `tasks/${encoded}`],
        ['POST', `tasks/${encoded}:cancel`],
        ['GET', `tasks/${encoded}:subscribe`],
      ] as const) {
        expect([path, refusal(version, await ask(version, verb, path))]).toEqual([
          path,
          { status: 404, name, reason: 'TASK_NOT_FOUND' },
        ]);
      }
    }
    const broken = await rawRequest(server.url, [
      `GET /a2a/v1/tasks/%ff HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nA2A-Version: ${version}\r\n\r\n`,
    ]);
    expect(broken.status).toBe(400);
    expect(JSON.parse(broken.body)).toHaveProperty(version === '1.0' ? 'error.details' : 'data');
  });

  // [A2A-HTTP-2]
  it('says in the shape of the version what there is not', async () => {
    const missing = { status: 404, name: version === '1.0' ? 'UNIMPLEMENTED' : -32601, reason: 'METHOD_NOT_FOUND' };
    const absent = version === '1.0' ? ['card'] : ['tasks', 'extendedAgentCard'];
    for (const path of ['', 'nothing', 'tasks/a/b', 'message:sent', 'a/b/tasks/c', ...absent]) {
      expect([path, refusal(version, await ask(version, 'GET', path))]).toEqual([path, missing]);
    }
    for (const [verb, path, allow] of [
      ['GET', 'message:send', 'POST'],
      ['DELETE', 'tasks/x', 'GET'],
      ['GET', 'tasks/x:cancel', 'POST'],
      ['PUT', 'tasks/x/pushNotificationConfigs', 'GET, POST'],
      ['PATCH', 'tasks/x/pushNotificationConfigs/y', 'GET, DELETE'],
    ] as const) {
      const answer = await ask(version, verb, path);
      expect([path, refusal(version, answer)]).toEqual([path, { ...missing, status: 405 }]);
      expect(answer.headers.get('allow')).toBe(allow);
    }
  });

  it('refuses a caller without a credential in the shape of the version', async () => {
    const answer = await ask(version, 'GET', 'tasks/x', { token: null });
    expect(refusal(version, answer)).toMatchObject({ status: 401, reason: 'UNAUTHENTICATED' });
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
  });
});

it('refuses a version that it does not speak in the shape of 1.0', async () => {
  const answer = await ask('2.0' as Version, 'GET', 'tasks/x');
  expect(refusal('1.0', answer)).toEqual({
    status: 400,
    name: 'FAILED_PRECONDITION',
    reason: 'VERSION_NOT_SUPPORTED',
  });
});

// [A2A-HTTP-4]
it('lists tasks in 1.0 by what the query says', async () => {
  const contextId = randomUUID();
  const body = said('1.0', 'hello');
  const { task } = parsed<{ task: WireTask }>(
    await ask('1.0', 'POST', 'message:send', {
      body: { ...body, message: { ...(body['message'] as JsonObject), contextId } },
    }),
  );
  const list = async (query: string) => parsed<{ tasks: WireTask[] }>(await ask('1.0', 'GET', `tasks?${query}`)).tasks;
  const filters = `contextId=${contextId}&pageSize=5&statusTimestampAfter=2020-01-01T00:00:00Z`;
  expect((await list(`${filters}&status=completed`)).map(({ id }) => id)).toEqual([task.id]);
  expect(await list(`${filters}&status=TASK_STATE_FAILED`)).toEqual([]);
  expect((await list(`${filters}&includeArtifacts=true`))[0]?.artifacts).toHaveLength(1);
  for (const query of ['pageSize=0', 'pageSize=ten', 'status=done', 'includeArtifacts=1', 'pageSize=1&pageSize=2']) {
    expect(refusal('1.0', await ask('1.0', 'GET', `tasks?${query}`)).reason).toBe('INVALID_PARAMS');
  }
});
