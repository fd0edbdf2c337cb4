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
  TaskPushNotificationConfig,
  TaskState,
} from '@a2a-js/sdk';
import { type Client, ClientFactory, DefaultAgentCardResolver, RestTransportFactory } from '@a2a-js/sdk/client';
import { LegacyRestTransport } from '@a2a-js/sdk/compat/v0_3/client';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/clients/rpc.js';
import { type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';

let server: RunningServer;

beforeAll(async () => {
  server = await startServer({ env: { ACTA_PUSH_ALLOW_PRIVATE: 'true' } });
}, 90_000);
afterAll(() => server?.stop());

/** What the client has asked, as method and path. */
const asked = new Set<string>();

const authorized: typeof fetch = (input, init) => {
  const headers = new Headers(init?.headers);
  headers.set('Authorization', `Bearer ${TOKEN}`);
  asked.add(`${init?.method ?? 'GET'} ${new URL(input as string).pathname.replace(/[0-9a-f-]{36}/, '<id>')}`);
  return fetch(input, { ...init, headers });
};

/** A client of v0.3 asks for its card without a version. */
const withoutVersion: typeof fetch = (input, init) => {
  const headers = new Headers(init?.headers);
  headers.delete('A2A-Version');
  return fetch(input, { ...init, headers });
};

function clientBy(cardResolver: DefaultAgentCardResolver): Promise<Client> {
  const transports = [new RestTransportFactory({ fetchImpl: authorized, legacyCompat: { enabled: true } })];
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

type Common = 'sendMessage' | 'sendMessageStream' | 'getTask' | 'cancelTask' | 'resubscribeTask';
type PushConfigs = `${'create' | 'get' | 'list' | 'delete'}TaskPushNotificationConfig`;
type AnyClient = Pick<Client, Common | PushConfigs>;

const WAYS: [string, () => Promise<AnyClient>][] = [
  ['v1.0', () => clientBy(new DefaultAgentCardResolver())],
  [
    'v0.3, found through its card',
    () => clientBy(new DefaultAgentCardResolver({ fetchImpl: withoutVersion, legacyCompat: { enabled: true } })),
  ],
  [
    'v0.3, by its transport alone',
    async () => new LegacyRestTransport({ endpoint: `${server.url}/a2a`, fetchImpl: authorized }),
  ],
];

const byId = (id: string): SubscribeToTaskRequest & CancelTaskRequest => ({ id, tenant: '', metadata: undefined });

/** The kinds of updates that a stream gave until it ended, and the text of its artifacts. */
async function whole(stream: AsyncIterable<StreamResponse>) {
  const updates: StreamResponse[] = [];
  for await (const update of stream) updates.push(update);
  const kinds = updates.map(({ payload }) => payload?.$case);
  const text = updates
    .flatMap((update) => (StreamResponse.toJSON(update) as ArtifactUpdate).artifactUpdate?.artifact.parts ?? [])
    .map((part) => part.text)
    .join('');
  const states = updates.flatMap(({ payload }) =>
    payload?.$case === 'task' || payload?.$case === 'statusUpdate' ? [payload.value.status?.state] : [],
  );
  return { kinds, text, state: states.at(-1) };
}
interface ArtifactUpdate {
  artifactUpdate?: { artifact: { parts: { text: string }[] } };
}

// Item 4: the official client passes over REST, in both versions
describe.each(WAYS)('the official SDK over HTTP+JSON speaking %s', (_name, connect) => {
  let client: AnyClient;
  beforeAll(async () => {
    asked.clear();
    client = await connect();
  });

  it('sends a message and gets its task', async () => {
    const task = taskOf(await client.sendMessage(saying('hello')));
    expect([...asked]).toEqual(['POST /a2a/v1/message:send']);
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

  it('streams a message until its task is completed', async () => {
    const { kinds, text, state } = await whole(client.sendMessageStream(saying('chunks 3')));
    expect(kinds[0]).toBe('task');
    expect(new Set(kinds.slice(1))).toEqual(new Set(['statusUpdate', 'artifactUpdate']));
    expect(text.trim()).not.toBe('');
    expect(state).toBe(TaskState.TASK_STATE_COMPLETED);
  });

  it('streams a bare message as exactly that', async () => {
    expect((await whole(client.sendMessageStream(saying('reply')))).kinds).toEqual(['message']);
  });

  it('subscribes again to a task at work, and hears it end', async () => {
    const sent = taskOf(await client.sendMessage(saying('sleep 1s', {}, { returnImmediately: true })));
    const { kinds, state } = await whole(client.resubscribeTask(byId(sent.id)));
    expect(kinds[0]).toBe('task');
    expect(state).toBe(TaskState.TASK_STATE_COMPLETED);
  });

  it('goes on with a task that asked for input', async () => {
    const question = taskOf(await client.sendMessage(saying('ask')));
    expect(question.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    const answer = saying('go on', { taskId: question.id, contextId: question.contextId });
    expect(taskOf(await client.sendMessage(answer))).toMatchObject({
      id: question.id,
      status: { state: TaskState.TASK_STATE_COMPLETED },
    });
  });

  it('sets, gets, lists and deletes a webhook of a task', async () => {
    const { id: taskId } = taskOf(await client.sendMessage(saying('ask')));
    const id = 'urn:hook/1 ü';
    const url = 'http://127.0.0.1:9/hook';
    const set = await client.createTaskPushNotificationConfig(
      TaskPushNotificationConfig.fromJSON({
        taskId,
        id,
        url,
        token: 'opaque',
        authentication: { scheme: 'Bearer', credentials: 'secret' },
      }),
    );
    expect(set).toMatchObject({ taskId, id, url, authentication: { scheme: 'Bearer', credentials: '' } });
    const named = { tenant: '', taskId, id };
    expect(await client.getTaskPushNotificationConfig(named)).toMatchObject({ taskId, id, url });
    const list = () => client.listTaskPushNotificationConfig({ tenant: '', taskId, pageSize: 0, pageToken: '' });
    expect((await list()).configs).toMatchObject([{ taskId, id, url }]);
    await client.deleteTaskPushNotificationConfig(named);
    expect((await list()).configs).toEqual([]);
  });

  it('cancels, and is told in its own errors what it cannot do', async () => {
    const sent = taskOf(await client.sendMessage(saying('sleep 60s', {}, { returnImmediately: true })));
    expect((await client.cancelTask(byId(sent.id))).status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    const done = taskOf(await client.sendMessage(saying('hello')));
    await expect(client.cancelTask(byId(done.id))).rejects.toMatchObject({ name: 'TaskNotCancelableError' });
    await expect(client.getTask(GetTaskRequest.fromJSON({ id: randomUUID() }))).rejects.toMatchObject({
      name: 'TaskNotFoundError',
    });
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
    const status = 'TASK_STATE_COMPLETED';
    const page = await client.listTasks(ListTasksRequest.fromJSON({ contextId, pageSize: 2, pageToken, status }));
    expect(page.totalSize).toBe(3);
    seen.push(...page.tasks.map(({ id }) => id));
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  expect(seen).toEqual(ids);
});
