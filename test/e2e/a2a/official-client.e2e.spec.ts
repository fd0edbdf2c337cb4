import { randomUUID } from 'node:crypto';
import {
  type CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  SendMessageRequest,
  type SendMessageResult,
  StreamResponse,
  type SubscribeToTaskRequest,
  Task,
  TaskState,
} from '@a2a-js/sdk';
import { type Client, ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from '@a2a-js/sdk/client';
import { LegacyJsonRpcTransport } from '@a2a-js/sdk/compat/v0_3/client';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/clients/rpc.js';
import { type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';

let server: RunningServer;

beforeAll(async () => {
  server = await startServer();
}, 90_000);
afterAll(() => server?.stop());

/** JSON-RPC methods that the client has called. */
const methods = new Set<string>();

const authorized: typeof fetch = (input, init) => {
  const headers = new Headers(init?.headers);
  headers.set('Authorization', `Bearer ${TOKEN}`);
  if (typeof init?.body === 'string') methods.add((JSON.parse(init.body) as { method: string }).method);
  return fetch(input, { ...init, headers });
};

/** A client of v0.3 asks for its card without a version. */
const withoutVersion: typeof fetch = (input, init) => {
  const headers = new Headers(init?.headers);
  headers.delete('A2A-Version');
  return fetch(input, { ...init, headers });
};
const legacyResolver = () =>
  new DefaultAgentCardResolver({ fetchImpl: withoutVersion, legacyCompat: { enabled: true } });

function clientBy(cardResolver: DefaultAgentCardResolver): Promise<Client> {
  const transports = [new JsonRpcTransportFactory({ fetchImpl: authorized, legacyCompat: { enabled: true } })];
  return new ClientFactory({ transports, cardResolver }).createFromUrl(server.url);
}

const saying = (text: string, more: object = {}, configuration?: object) =>
  SendMessageRequest.fromJSON({
    message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more },
    ...(configuration === undefined ? {} : { configuration }),
  });

function taskOf(result: SendMessageResult): Task {
  if (!('status' in result)) throw new Error(`not a task: ${JSON.stringify(result)}`);
  return result;
}
const textOf = (task: Task) =>
  (Task.toJSON(task) as { artifacts: { parts: { text: string }[] }[] }).artifacts[0]?.parts[0]?.text;

/** What the official client offers in both versions, whichever way it was made. */
type AnyClient = Pick<Client, 'sendMessage' | 'sendMessageStream' | 'resubscribeTask' | 'getTask' | 'cancelTask'>;

const byId = (id: string): SubscribeToTaskRequest & CancelTaskRequest => ({ id, tenant: '', metadata: undefined });

interface ShownUpdate {
  readonly artifactUpdate?: { readonly artifact: { readonly parts: readonly { readonly text?: string }[] } };
  readonly statusUpdate?: { readonly status: { readonly state: string } };
}

/** What a stream gave until it ended: the kinds of its updates, the text of its artifacts, and its last state. */
async function whole(stream: AsyncIterable<StreamResponse>) {
  const updates: StreamResponse[] = [];
  for await (const update of stream) updates.push(update);
  const shown = updates.map((update) => StreamResponse.toJSON(update) as ShownUpdate);
  return {
    kinds: updates.map(({ payload }) => payload?.$case),
    text: shown
      .flatMap(({ artifactUpdate }) => artifactUpdate?.artifact.parts ?? [])
      .map(({ text }) => text)
      .join(''),
    state: shown.at(-1)?.statusUpdate?.status.state,
  };
}

const WAYS: [string, string, () => Promise<AnyClient>][] = [
  ['v1.0', 'SendMessage', () => clientBy(new DefaultAgentCardResolver())],
  ['v0.3, found through its card', 'message/send', () => clientBy(legacyResolver())],
  [
    'v0.3, by its transport alone',
    'message/send',
    async () => new LegacyJsonRpcTransport({ endpoint: `${server.url}/a2a`, fetchImpl: authorized }),
  ],
];

describe.each(WAYS)('the official SDK speaking %s', (_name, method, connect) => {
  let client: AnyClient;
  beforeAll(async () => {
    methods.clear();
    client = await connect();
  });
  afterAll(() => expect(methods).toContain(method));

  it('sends and gets the finished task', async () => {
    const task = taskOf(await client.sendMessage(saying('hello')));
    expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(textOf(task)).toBe('HELLO');
  });

  it('sends without waiting, and gets the task until it is completed', async () => {
    const sent = taskOf(await client.sendMessage(saying('sleep 200ms', {}, { returnImmediately: true })));
    expect([TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING]).toContain(sent.status?.state);
    const done = await eventually(
      () => client.getTask(GetTaskRequest.fromJSON({ id: sent.id })),
      (task) => task.status?.state === TaskState.TASK_STATE_COMPLETED,
    );
    expect(textOf(done)).toBe('SLEEP 200MS');
  });

  it('goes on with a task that asked for input', async () => {
    const asked = taskOf(await client.sendMessage(saying('ask')));
    expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    const done = taskOf(await client.sendMessage(saying('go on', { taskId: asked.id, contextId: asked.contextId })));
    expect(done).toMatchObject({ id: asked.id, status: { state: TaskState.TASK_STATE_COMPLETED } });
  });

  it('gets a bare message', async () => {
    expect(await client.sendMessage(saying('reply'))).toMatchObject({
      parts: [{ content: { $case: 'text', value: 'REPLY' } }],
    });
  });

  it('streams a message until its task is completed', async () => {
    const { kinds, text, state } = await whole(client.sendMessageStream(saying('one two chunks 3')));
    expect(kinds[0]).toBe('task');
    expect(new Set(kinds.slice(1))).toEqual(new Set(['statusUpdate', 'artifactUpdate']));
    expect(text).toBe('ONE TWO CHUNKS 3');
    expect(state).toBe('TASK_STATE_COMPLETED');
  });

  it('streams a bare message as exactly that, and a question as the last of its turn', async () => {
    expect((await whole(client.sendMessageStream(saying('reply')))).kinds).toEqual(['message']);
    expect((await whole(client.sendMessageStream(saying('ask')))).state).toBe('TASK_STATE_INPUT_REQUIRED');
  });

  it('subscribes again to a task at work, and hears it end; one that has ended is refused', async () => {
    const sent = taskOf(await client.sendMessage(saying('sleep 1s', {}, { returnImmediately: true })));
    const { kinds, state } = await whole(client.resubscribeTask(byId(sent.id)));
    expect(kinds[0]).toBe('task');
    expect(state).toBe('TASK_STATE_COMPLETED');
    await expect(whole(client.resubscribeTask(byId(sent.id)))).rejects.toThrow(/completed/);
  });

  it('cancels, and is told why it cannot cancel again what has ended', async () => {
    const sent = taskOf(await client.sendMessage(saying('sleep 60s', {}, { returnImmediately: true })));
    expect((await client.cancelTask(byId(sent.id))).status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    const done = taskOf(await client.sendMessage(saying('hello')));
    await expect(client.cancelTask(byId(done.id))).rejects.toThrow();
    await expect(client.getTask(GetTaskRequest.fromJSON({ id: randomUUID() }))).rejects.toThrow(/not found/i);
  });
});

it('lists tasks page by page through the v1.0 client', async () => {
  const client = await clientBy(new DefaultAgentCardResolver());
  const contextId = randomUUID();
  const ids: string[] = [];
  for (const text of ['a', 'b', 'c']) ids.unshift(taskOf(await client.sendMessage(saying(text, { contextId }))).id);
  const seen: string[] = [];
  let pageToken = '';
  do {
    const page = await client.listTasks(ListTasksRequest.fromJSON({ contextId, pageSize: 2, pageToken }));
    expect(page.totalSize).toBe(3);
    seen.push(...page.tasks.map(({ id }) => id));
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  expect(seen).toEqual(ids);
});

it('resolves the card of both versions', async () => {
  const current = await new DefaultAgentCardResolver().resolve(server.url);
  expect(current.name).toBe('demo');
  expect(current.supportedInterfaces.map(({ protocolVersion }) => protocolVersion)).toEqual([
    '1.0',
    '1.0',
    '0.3',
    '0.3',
  ]);
  const legacy = await legacyResolver().resolve(server.url);
  expect(legacy.name).toBe('demo');
  for (const { protocolVersion, url } of legacy.supportedInterfaces) {
    expect(protocolVersion).toMatch(/^0\.3/);
    expect(url).toBe(`${server.url}/a2a`);
  }
});
