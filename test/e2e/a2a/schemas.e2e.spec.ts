import { describe, expect, it } from '@jest/globals';
import type { Json, JsonObject } from '@app/domain';
import { call, http, sendParams, sendParamsV03, type WireTask } from '../../support/clients/rpc.js';
import { expectV03, expectV1 } from '../../support/clients/schemas.js';
import { SseReader } from '../../support/clients/sse-reader.js';
import { useServer } from '../../support/processes/spec-server.js';
import { TOKEN } from '../../support/processes/start-server.js';

const server = useServer({ ACTA_PUSH_ALLOW_PRIVATE: 'true' });

/** Each text makes the demo agent end its turn in a different way. */
const TEXTS = ['hello', 'chunks 3 of it', 'ask me', 'auth first', 'fail at it', 'reject it'];

const FILES: JsonObject[] = [
  { raw: 'aGVsbG8=', filename: 'hello.txt', mediaType: 'text/plain' },
  { url: 'https://example.com/image.png', mediaType: 'image/png', metadata: { page: 1 } },
  { data: { rows: [1, null] } },
  { data: ['no', 'object'] },
  { text: 'with a type', mediaType: 'text/markdown' },
];
const LEGACY_FILES: JsonObject[] = [
  { kind: 'file', file: { bytes: 'aGVsbG8=', name: 'hello.txt', mimeType: 'text/plain' } },
  { kind: 'file', file: { uri: 'https://example.com/image.png' }, metadata: { page: 1 } },
  { kind: 'data', data: { rows: [1, null] } },
];

const WEBHOOK = {
  url: 'http://127.0.0.1:9/hook',
  token: 'secret',
  authentication: { scheme: 'Bearer', credentials: 'c' },
};

describe('The schema of a task', () => {
  it('rejects a task of the other version', async () => {
    const { body } = await call(server.url, TOKEN, '1.0', 'SendMessage', sendParams('hello'));
    const { task } = body.result as { task: JsonObject };
    expect(() => expectV1('Task', { ...task, kind: 'task' })).toThrow(/additional/);
    expect(() => expectV03('Task', task)).toThrow(/kind/);
  });
});

describe('A response of A2A 1.0', () => {
  const request = async (method: string, params: JsonObject): Promise<Json> => {
    const { body } = await call(server.url, TOKEN, '1.0', method, params);
    expect(body).toMatchObject({ jsonrpc: '2.0', id: 1 });
    if (body.result === undefined) throw new Error(JSON.stringify(body));
    return body.result;
  };
  const send = async (text: string, message: JsonObject = {}): Promise<WireTask> => {
    const result = await request('SendMessage', sendParams(text, { message }));
    expectV1('SendMessageResponse', result);
    return (result as unknown as { task: WireTask }).task;
  };

  it.each(TEXTS)('matches its schema for the message "%s"', async (text) => {
    const { id } = await send(text);
    expectV1('Task', await request('GetTask', { id }));
  });

  it('matches its schema if the message has every type of part', async () => {
    const { id } = await send('', { parts: [{ text: 'hello' }, ...FILES], metadata: { a: 1 }, extensions: ['urn:x'] });
    const task = (await request('GetTask', { id })) as unknown as WireTask;
    expectV1('Task', task);
    expect(task.history![0]!.parts).toHaveLength(6);
  });

  it('matches its schema if it is a direct message response', async () => {
    const result = await request('SendMessage', sendParams('reply to me'));
    expectV1('SendMessageResponse', result);
    expect(result).toHaveProperty('message');
  });

  it('matches its schema for ListTasks and CancelTask', async () => {
    const { id } = await send('ask me');
    const lists: JsonObject[] = [{}, { includeArtifacts: true, historyLength: 10 }, { contextId: 'none' }];
    for (const params of lists) {
      expectV1('ListTasksResponse', await request('ListTasks', params));
    }
    expectV1('Task', await request('CancelTask', { id }));
  });

  it('matches its schema for the webhook methods', async () => {
    const { id: taskId } = await send('ask me');
    const set = (await request('CreateTaskPushNotificationConfig', { taskId, ...WEBHOOK })) as { id: string };
    expectV1('TaskPushNotificationConfig', set);
    expectV1('TaskPushNotificationConfig', await request('GetTaskPushNotificationConfig', { taskId, id: set.id }));
    const listed = await request('ListTaskPushNotificationConfigs', { taskId });
    expectV1('ListTaskPushNotificationConfigsResponse', listed);
    expect(await request('DeleteTaskPushNotificationConfig', { taskId, id: set.id })).toEqual({});
  });

  it('matches its schema if it is an agent card', async () => {
    const headers = { 'A2A-Version': '1.0' };
    const { text } = await http('GET', `${server.url}/.well-known/agent-card.json`, null, { headers });
    expectV1('AgentCard', JSON.parse(text));
    expectV1('AgentCard', await request('GetExtendedAgentCard', {}));
  });

  it.each([...TEXTS, 'reply to me'])(
    'matches its schema in every frame of a stream for the message "%s"',
    async (text) => {
      const body = { jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: sendParams(text) };
      const reader = await SseReader.open(`${server.url}/a2a`, TOKEN, { 'A2A-Version': '1.0' }, body);
      const frames = (await reader.remaining()).map(({ data }) => JSON.parse(data) as { result: Json });
      expect(frames.length).toBeGreaterThan(0);
      for (const { result } of frames) expectV1('StreamResponse', result);
    },
  );

  it('matches its schema over HTTP+JSON', async () => {
    const rest = async (method: string, path: string, body?: JsonObject): Promise<Json> => {
      const options = {
        headers: { 'A2A-Version': '1.0' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      };
      const { status, text } = await http(method, `${server.url}/a2a/v1/${path}`, TOKEN, options);
      expect([status, text]).toEqual([200, expect.any(String)]);
      return JSON.parse(text) as Json;
    };
    const sent = (await rest('POST', 'message:send', sendParams('ask me'))) as unknown as { task: WireTask };
    expectV1('SendMessageResponse', sent);
    const { id } = sent.task;
    expectV1('Task', await rest('GET', `tasks/${id}?historyLength=1`));
    expectV1('ListTasksResponse', await rest('GET', 'tasks?includeArtifacts=true'));
    const config = (await rest('POST', `tasks/${id}/pushNotificationConfigs`, WEBHOOK)) as { id: string };
    expectV1('TaskPushNotificationConfig', config);
    expectV1('TaskPushNotificationConfig', await rest('GET', `tasks/${id}/pushNotificationConfigs/${config.id}`));
    expectV1('ListTaskPushNotificationConfigsResponse', await rest('GET', `tasks/${id}/pushNotificationConfigs`));
    expectV1('Task', await rest('POST', `tasks/${id}:cancel`, {}));
    expectV1('AgentCard', await rest('GET', 'extendedAgentCard'));
  });
});

describe('A response of A2A 0.3', () => {
  /** Validates the complete response against a definition, and returns its result. */
  const request = async (definition: string, method: string, params: JsonObject): Promise<Json> => {
    const { text } = await call(server.url, TOKEN, '0.3', method, params);
    const body = JSON.parse(text) as { result: Json };
    expectV03(definition, body);
    return body.result;
  };
  const paramsOf = (text: string, message: JsonObject = {}): JsonObject =>
    sendParamsV03(text, { message, configuration: { blocking: true } });
  const send = async (text: string, message: JsonObject = {}) =>
    (await request('SendMessageSuccessResponse', 'message/send', paramsOf(text, message))) as unknown as WireTask;

  it.each(TEXTS)('matches its schema for the message "%s"', async (text) => {
    const { id } = await send(text);
    await request('GetTaskSuccessResponse', 'tasks/get', { id });
  });

  it('matches its schema if the message has every type of part, or the task has parts of A2A 1.0', async () => {
    const { id } = await send('', { parts: [{ kind: 'text', text: 'hello' }, ...LEGACY_FILES], metadata: { a: 1 } });
    await request('GetTaskSuccessResponse', 'tasks/get', { id });
    const { body } = await call(server.url, TOKEN, '1.0', 'SendMessage', sendParams('', { message: { parts: FILES } }));
    const { task } = body.result as unknown as { task: WireTask };
    await request('GetTaskSuccessResponse', 'tasks/get', { id: task.id });
  });

  it('matches its schema if it is a direct message response', async () => {
    expect(await send('reply to me')).toMatchObject({ kind: 'message' });
  });

  it('matches its schema for tasks/cancel', async () => {
    const { id } = await send('ask me');
    await request('CancelTaskSuccessResponse', 'tasks/cancel', { id });
  });

  it('matches its schema for the webhook methods', async () => {
    const { id } = await send('ask me');
    const method = (name: string) => `tasks/pushNotificationConfig/${name}`;
    const { url, token } = WEBHOOK;
    const params = { taskId: id, pushNotificationConfig: { url, token, authentication: { schemes: ['Bearer'] } } };
    const set = (await request('SetTaskPushNotificationConfigSuccessResponse', method('set'), params)) as {
      pushNotificationConfig: { id: string };
    };
    const key = { id, pushNotificationConfigId: set.pushNotificationConfig.id };
    await request('GetTaskPushNotificationConfigSuccessResponse', method('get'), key);
    await request('ListTaskPushNotificationConfigSuccessResponse', method('list'), { id });
    await request('DeleteTaskPushNotificationConfigSuccessResponse', method('delete'), key);
  });

  it('matches its schema if it is an agent card', async () => {
    const { text } = await http('GET', `${server.url}/.well-known/agent-card.json`, null);
    expectV03('AgentCard', JSON.parse(text));
    const definition = 'GetAuthenticatedExtendedCardSuccessResponse';
    await request(definition, 'agent/getAuthenticatedExtendedCard', {});
  });

  it.each([...TEXTS, 'reply to me'])(
    'matches its schema in every frame of a stream for the message "%s"',
    async (text) => {
      const body = { jsonrpc: '2.0', id: 1, method: 'message/stream', params: paramsOf(text) };
      const reader = await SseReader.open(`${server.url}/a2a`, TOKEN, { 'A2A-Version': '0.3' }, body);
      const frames = (await reader.remaining()).map(({ data }) => JSON.parse(data) as Json);
      expect(frames.length).toBeGreaterThan(0);
      for (const frame of frames) expectV03('SendStreamingMessageSuccessResponse', frame);
    },
  );

  it.each([
    ['tasks/get', { id: 'missing' }],
    ['tasks/get', {}],
    ['tasks/list', {}],
    ['message/send', { message: {} }],
  ])('matches the schema of an error for the invalid call %s %j', async (method, params) => {
    const { text } = await call(server.url, TOKEN, '0.3', method, params);
    expectV03('JSONRPCErrorResponse', JSON.parse(text));
  });
});
