import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import {
  DomainError,
  invalidField,
  taskNotFound,
  type Json,
  type JsonObject,
  type Message,
  type TaskState,
  type TaskView,
} from '@app/domain';
import type { CardDescription } from './card-description.js';
import type { A2aCodec } from './codec.js';
import { encodeCompatibleCard } from './compatible-card.js';
import { cardInterfaces, PROTOCOLS } from './protocols.js';
import type { Method, Operation } from './requests.js';
import { encodeError, encodeResult } from './transport/json-rpc.js';

/*
 * The payloads of both versions as clients see them. They are files in contracts/golden, so that a diff shows each change of a
 * payload.
 */
const golden = fileURLToPath(new URL('../../../contracts/golden/', import.meta.url));
const [v1, v03] = [PROTOCOLS['1.0'].codec, PROTOCOLS['0.3'].codec];

const state: TaskState = {
  contextId: '0b7c6c1e-6d35-8d0f-9a5b-0d8f7a4f1c11',
  ring: 'ring:dev',
  owner: 'alice',
  agent: 'demo',
  status: 'completed',
  statusAt: '2026-01-02T03:04:06.789Z',
  statusMessage: 9,
  createdAt: '2026-01-02T03:04:05.000Z',
  queuedBy: 'event-4',
  version: 9,
  leaseGeneration: 2,
  dispatcherGeneration: 1,
  attempts: 2,
  notBefore: null,
  run: {
    id: 'run-2',
    eventId: 'event-5',
    attempt: 2,
    leaseGeneration: 2,
    dispatcherGeneration: 1,
    worker: 'worker-host-1',
    startedAt: '2026-01-02T03:04:05.500Z',
    endedAt: '2026-01-02T03:04:06.789Z',
    outcome: 'completed',
    seq: 3,
    artifacts: ['report'],
  },
  acknowledged: false,
  clientMessages: { count: 1, bytes: 100, lastVersion: 2 },
  recordedAt: '2026-01-01T00:00:00.000Z',
  cancelDeadline: null,
};

const question: Message = {
  messageId: 'msg-1',
  role: 'user',
  parts: [
    { text: 'Summarize this', mediaType: 'text/markdown' },
    { raw: 'aGVsbG8=', filename: 'hello.txt', mediaType: 'text/plain' },
    { url: 'https://example.com/image.png', mediaType: 'image/png', metadata: { page: 1 } },
    { data: { rows: [1, 2.5, null] } },
    { data: ['not', 'an', 'object'] },
  ],
  metadata: { ring: 'ring:dev' },
  extensions: ['https://example.com/extensions/citations'],
  referenceTaskIds: ['2f6c1e0a-1111-8d0f-9a5b-0d8f7a4f1c11'],
};

const task: TaskView = {
  tenantId: 'acme',
  taskId: '6f1d2c3b-4a59-8e7f-8a1b-2c3d4e5f6071',
  state,
  statusMessage: { messageId: 'msg-2', role: 'agent', parts: [{ text: 'done' }] },
  history: [question],
  artifacts: [
    {
      artifactId: 'report',
      name: 'Report',
      description: 'The summary',
      parts: [{ text: 'Short.' }],
      metadata: { pages: 1 },
    },
  ],
  truncated: { artifacts: 1 },
};

const reply: TaskView = {
  ...task,
  state: { ...state, status: 'replied' },
  statusMessage: { messageId: 'msg-3', role: 'agent', parts: [{ text: 'Hello!' }] },
};

const waiting: TaskView = {
  tenantId: 'acme',
  taskId: 'bare',
  state: { ...state, status: 'submitted', statusMessage: null, run: null, statusAt: state.createdAt },
  history: [],
  artifacts: [],
};

const card: CardDescription = {
  name: 'Acta',
  description: 'Runs agents and keeps the record',
  version: '0.1.0',
  skills: [
    {
      id: 'upper',
      name: 'Upper-case',
      description: 'Upper-cases text',
      tags: ['text'],
      examples: ['hello'],
      inputModes: ['text/plain'],
    },
  ],
  inputModes: ['text/plain', 'application/json'],
  outputModes: ['text/plain'],
  interfaces: cardInterfaces('https://acta.example.com/', ['JSONRPC', 'HTTP+JSON']),
  capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: true },
  authentication: 'bearer',
  provider: { organization: 'Example', url: 'https://example.com' },
  extensions: [
    {
      uri: 'https://example.com/extensions/citations',
      description: 'Cites sources',
      required: false,
      params: { max: 3 },
    },
  ],
};

const push = {
  id: 'hook-1',
  taskId: task.taskId,
  url: 'https://example.com/hook',
  token: 'opaque',
  authentication: { scheme: 'Bearer', credentials: 'secret' },
};

const ids = { taskId: task.taskId, contextId: state.contextId };

/** Returns the response of a method. `request` are the fields of the request that affect it. */
function result(codec: A2aCodec, name: string, value: unknown, request: JsonObject = {}): Json {
  const method = codec.methods.get(name) as { encode(result: unknown, request: unknown): Json } | undefined;
  return encodeResult(1, method?.encode(value, { configuration: {}, ...request }) ?? null);
}

const failure = (codec: A2aCodec, error: DomainError): Json => encodeError(1, codec.rpcError(error));

const stream = (codec: Pick<A2aCodec, 'encodeUpdate'>): Json[] => [
  codec.encodeUpdate({ type: 'task', view: waiting }),
  codec.encodeUpdate({ type: 'status', ids, state: { ...state, status: 'working' }, final: false }),
  codec.encodeUpdate({ type: 'artifact', ids, artifact: task.artifacts[0]!, append: false, last: false }),
  codec.encodeUpdate({
    type: 'artifact',
    ids,
    artifact: { artifactId: 'report', parts: [{ data: null }] },
    append: true,
    last: true,
  }),
  codec.encodeUpdate({ type: 'status', ids, state, message: task.statusMessage!, final: true }),
  codec.encodeUpdate({ type: 'message', ids, message: reply.statusMessage! }),
];

/** Returns the response of the HTTP+JSON binding at a path. */
const httpResult = (
  { http }: A2aCodec,
  httpMethod: string,
  path: string,
  value: unknown,
  request: JsonObject = {},
): Json =>
  (http.route(httpMethod, path).method as Method<Operation>).encode(
    value as never,
    { configuration: {}, ...request } as never,
  );

const page = { tasks: [task, waiting], totalSize: 2, nextPageToken: '', pageSize: 50 };

const payloads: Record<string, Json> = {
  'v1/send-message.task.json': result(v1, 'SendMessage', task),
  'v1/send-message.message.json': result(v1, 'SendMessage', reply),
  'v1/get-task.without-history.json': result(v1, 'GetTask', task, { historyLength: 0 }),
  'v1/list-tasks.json': result(v1, 'ListTasks', page, { includeArtifacts: false }),
  'v1/list-tasks.with-everything.json': result(v1, 'ListTasks', page, {
    includeArtifacts: true,
    historyLength: 1,
  }),
  'v1/list-tasks.empty.json': result(v1, 'ListTasks', {
    tasks: [],
    totalSize: 0,
    nextPageToken: '',
    pageSize: 50,
  }),
  'v1/stream.json': stream(v1),
  'v1/push-config.json': result(v1, 'CreateTaskPushNotificationConfig', push),
  'v1/push-configs.json': result(v1, 'ListTaskPushNotificationConfigs', { configs: [push], nextPageToken: '' }),
  'v1/agent-card.json': v1.encodeCard(card),
  'v1/error.task-not-found.json': failure(v1, taskNotFound('missing')),
  'v1/error.invalid-params.json': failure(v1, invalidField('message.parts', 'at least one part is required')),
  'v1/http-error.task-not-found.json': v1.httpError(taskNotFound('missing')).body,
  'v03/message-send.task.json': result(v03, 'message/send', task),
  'v03/message-send.message.json': result(v03, 'message/send', reply),
  'v03/tasks-get.without-history.json': result(v03, 'tasks/get', task, { historyLength: 0 }),
  'v03/stream.json': stream(v03),
  'v03/push-config.json': result(v03, 'tasks/pushNotificationConfig/set', push),
  'v03/push-configs.json': result(v03, 'tasks/pushNotificationConfig/list', {
    configs: [push],
    nextPageToken: '',
  }),
  'v03/push-config.deleted.json': result(v03, 'tasks/pushNotificationConfig/delete', undefined),
  'v03/agent-card.json': v03.encodeCard(card),
  'v03/error.task-not-found.json': failure(v03, taskNotFound('missing')),
  'v03/http-json/send.task.json': httpResult(v03, 'POST', 'message:send', task),
  'v03/http-json/send.message.json': httpResult(v03, 'POST', 'message:send', reply),
  'v03/http-json/get-task.without-history.json': httpResult(v03, 'GET', 'tasks/t', task, { historyLength: 0 }),
  'v03/http-json/stream.json': stream(v03.http),
  'v03/http-json/push-configs.json': httpResult(v03, 'GET', 'tasks/t/pushNotificationConfigs', {
    configs: [push],
    nextPageToken: '',
  }),
  'v03/http-json/agent-card.json': httpResult(v03, 'GET', 'card', card),
  'v03/http-error.task-not-found.json': v03.httpError(taskNotFound('missing')).body,
  'v03/error.task-ended.json': failure(
    v03,
    new DomainError('TaskEnded', 'the task is completed', { taskId: 't', status: 'completed' }),
  ),
  'compatible/agent-card.json': encodeCompatibleCard(card),
};

describe('The golden payloads', () => {
  // [A2A-JSON-1]
  it.each(Object.entries(payloads))('contain what the encoder returns in %s', (name, payload) => {
    expect(JSON.parse(JSON.stringify(payload))).toEqual(JSON.parse(readFileSync(golden + name, 'utf8')));
  });

  it('are all compared with an encoder', () => {
    const files = ['v1', 'v03', 'v03/http-json', 'compatible'].flatMap((folder) =>
      readdirSync(golden + folder)
        .filter((file) => file.endsWith('.json'))
        .map((file) => `${folder}/${file}`),
    );
    expect(files.sort()).toEqual(Object.keys(payloads).sort());
  });

  it('do not contain a worker, an owner, a ring or a tenant', () => {
    const { history: _, ...rest } = task;
    const shown = JSON.stringify(
      [v1, v03].map((codec) => codec.encodeUpdate({ type: 'task', view: { ...rest, history: [] } })),
    );
    expect(shown).not.toMatch(/worker|alice|ring:|acme/);
  });

  it('do not contain a task that ended with a direct message response', () => {
    for (const [codec, name] of [
      [v1, 'GetTask'],
      [v03, 'tasks/get'],
    ] as const) {
      expect(() => result(codec, name, reply)).toThrow(/direct message response/);
    }
  });

  it('contain the newest messages if the history length is bounded', () => {
    const history = ['a', 'b', 'c'].map((messageId): Message => ({
      messageId,
      role: 'user',
      parts: [{ text: messageId }],
    }));
    const shown = (historyLength?: number) =>
      (
        v1.encodeUpdate({ type: 'task', view: { ...waiting, history }, historyLength }) as {
          task: { history?: JsonObject[] };
        }
      ).task.history?.map((m) => m['messageId']);
    expect([shown(), shown(2), shown(9), shown(0)]).toEqual([['a', 'b', 'c'], ['b', 'c'], ['a', 'b', 'c'], undefined]);
  });

  it('do not contain a security scheme in the card of a server without authentication', () => {
    const open = { ...card, authentication: 'none' as const };
    for (const encoded of [v1.encodeCard(open), v03.encodeCard(open), encodeCompatibleCard(open)]) {
      expect(JSON.stringify(encoded)).not.toMatch(/[sS]ecurity|bearer/);
    }
  });
});
