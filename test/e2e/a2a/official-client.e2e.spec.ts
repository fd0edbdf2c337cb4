import { randomUUID } from 'node:crypto';
import {
  type CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  SendMessageRequest,
  type SendMessageResult,
  type SubscribeToTaskRequest,
  Task,
  TaskPushNotificationConfig,
  TaskState,
} from '@a2a-js/sdk';
import { DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/clients/rpc.js';
import { useServer } from '../../support/processes/spec-server.js';
import {
  cardResolver,
  CLIENT_SETUPS,
  clientFromCard,
  type OfficialClient,
  readStream,
  recordingFetch,
} from './official-clients.js';

const server = useServer({ ACTA_PUSH_ALLOW_PRIVATE: 'true' });

const messageRequest = (text: string, message: object = {}, configuration?: object) =>
  SendMessageRequest.fromJSON({
    message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...message },
    ...(configuration === undefined ? {} : { configuration }),
  });
const byId = (id: string): SubscribeToTaskRequest & CancelTaskRequest => ({ id, tenant: '', metadata: undefined });

function taskOf(result: SendMessageResult): Task {
  if (!('status' in result)) throw new Error(`not a task: ${JSON.stringify(result)}`);
  return result;
}
const textOf = (task: Task) =>
  (Task.toJSON(task) as { artifacts: { parts: { text: string }[] }[] }).artifacts[0]?.parts[0]?.text;

describe.each(CLIENT_SETUPS)(
  'The official client of A2A $version over $binding, created $discovery,',
  ({ connect, sendRequest }) => {
    const requests = new Set<string>();
    let client: OfficialClient;
    beforeAll(async () => {
      client = await connect(server.url, recordingFetch(requests));
    });

    const send = async (text: string, message: object = {}, configuration?: object): Promise<Task> =>
      taskOf(await client.sendMessage(messageRequest(text, message, configuration)));
    const start = (text: string): Promise<Task> => send(text, {}, { returnImmediately: true });

    it('sends a message, and gets its completed task', async () => {
      const task = await send('hello');
      expect([...requests]).toEqual([sendRequest]);
      expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
      expect(textOf(task)).toBe('HELLO');
    });

    it('sends a message without waiting, and gets the task until it is completed', async () => {
      const sent = await start('sleep 200ms');
      expect([TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING]).toContain(sent.status?.state);
      const completed = await eventually(
        () => client.getTask(GetTaskRequest.fromJSON({ id: sent.id })),
        (task) => task.status?.state === TaskState.TASK_STATE_COMPLETED,
      );
      expect(textOf(completed)).toBe('SLEEP 200MS');
    });

    it('continues a task that requires input', async () => {
      const { id, contextId, status } = await send('ask');
      expect(status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
      expect(await send('go on', { taskId: id, contextId })).toMatchObject({
        id,
        status: { state: TaskState.TASK_STATE_COMPLETED },
      });
    });

    it('gets a direct message response', async () => {
      expect(await client.sendMessage(messageRequest('reply'))).toMatchObject({
        parts: [{ content: { $case: 'text', value: 'REPLY' } }],
      });
    });

    it('streams a message until its task is completed', async () => {
      const { kinds, text, state } = await readStream(client.sendMessageStream(messageRequest('one two chunks 3')));
      expect(kinds[0]).toBe('task');
      expect(new Set(kinds.slice(1))).toEqual(new Set(['statusUpdate', 'artifactUpdate']));
      expect(text).toBe('ONE TWO CHUNKS 3');
      expect(state).toBe('TASK_STATE_COMPLETED');
    });

    it('streams a direct message response as the only update', async () => {
      expect((await readStream(client.sendMessageStream(messageRequest('reply')))).kinds).toEqual(['message']);
    });

    it('streams a message until its task requires input', async () => {
      const { state } = await readStream(client.sendMessageStream(messageRequest('ask')));
      expect(state).toBe('TASK_STATE_INPUT_REQUIRED');
    });

    it('subscribes to a working task until it is completed, and not to a completed task', async () => {
      const { id } = await start('sleep 1s');
      const { kinds, state } = await readStream(client.resubscribeTask(byId(id)));
      expect(kinds[0]).toBe('task');
      expect(state).toBe('TASK_STATE_COMPLETED');
      await expect(readStream(client.resubscribeTask(byId(id)))).rejects.toThrow(/completed/);
    });

    it('cancels a task', async () => {
      const { id } = await start('sleep 60s');
      expect((await client.cancelTask(byId(id))).status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    });

    it('throws its own errors for a task that cannot be canceled and for an unknown task', async () => {
      const { id } = await send('hello');
      await expect(client.cancelTask(byId(id))).rejects.toMatchObject({ name: 'TaskNotCancelableError' });
      await expect(client.getTask(GetTaskRequest.fromJSON({ id: randomUUID() }))).rejects.toMatchObject({
        name: 'TaskNotFoundError',
        message: expect.stringMatching(/not found/i),
      });
    });

    it('creates, gets, lists and deletes a webhook of a task', async () => {
      const { id: taskId } = await send('ask');
      const id = 'urn:hook/1 ü';
      const url = 'http://127.0.0.1:9/hook';
      const authentication = { scheme: 'Bearer', credentials: 'secret' };
      const created = await client.createTaskPushNotificationConfig(
        TaskPushNotificationConfig.fromJSON({ taskId, id, url, token: 'opaque', authentication }),
      );
      expect(created).toMatchObject({ taskId, id, url, authentication: { scheme: 'Bearer', credentials: '' } });
      const key = { tenant: '', taskId, id };
      expect(await client.getTaskPushNotificationConfig(key)).toMatchObject({ taskId, id, url });
      const list = () => client.listTaskPushNotificationConfig({ tenant: '', taskId, pageSize: 0, pageToken: '' });
      expect((await list()).configs).toMatchObject([{ taskId, id, url }]);
      await client.deleteTaskPushNotificationConfig(key);
      expect((await list()).configs).toEqual([]);
    });
  },
);

describe('The official client of A2A 1.0', () => {
  it.each(['JSON-RPC', 'HTTP+JSON'] as const)('lists tasks page by page over %s', async (binding) => {
    const client = await clientFromCard(binding, server.url, recordingFetch(new Set()));
    const contextId = randomUUID();
    const ids: string[] = [];
    for (const text of ['a', 'b', 'c']) {
      ids.unshift(taskOf(await client.sendMessage(messageRequest(text, { contextId }))).id);
    }
    const query = { contextId, pageSize: 2, status: 'TASK_STATE_COMPLETED' };
    const listed: string[] = [];
    let pageToken = '';
    do {
      const page = await client.listTasks(ListTasksRequest.fromJSON({ ...query, pageToken }));
      expect(page.totalSize).toBe(3);
      listed.push(...page.tasks.map(({ id }) => id));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    expect(listed).toEqual(ids);
  });
});

describe('The card resolver of the official SDK', () => {
  it.each([
    ['with the resolver of A2A 1.0', () => new DefaultAgentCardResolver()],
    ['with a resolver that names no version', () => cardResolver(null)],
  ])('lists the interfaces of both versions %s', async (_resolver, createResolver) => {
    const card = await createResolver().resolve(server.url);
    expect(card.name).toBe('demo');
    expect(card.supportedInterfaces.map(({ protocolVersion }) => protocolVersion)).toEqual([
      '1.0',
      '1.0',
      '0.3',
      '0.3',
    ]);
  });

  it('lists the interfaces of A2A 0.3 with the resolver of A2A 0.3', async () => {
    const card = await cardResolver('0.3').resolve(server.url);
    expect(card.name).toBe('demo');
    for (const { protocolVersion, protocolBinding, url } of card.supportedInterfaces) {
      expect(protocolVersion).toMatch(/^0\.3/);
      expect(url).toBe(`${server.url}/a2a${protocolBinding === 'JSONRPC' ? '' : '/http-json'}`);
    }
  });
});
