// Runs the cases with the official JavaScript SDK of A2A 1.0.
import { randomUUID } from 'node:crypto';
import {
  AgentCard,
  GetTaskRequest,
  ListTasksRequest,
  SendMessageRequest,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
  verifyAgentCardSignature,
} from '@a2a-js/sdk';
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { importJWK } from 'jose';
import { check, expectError, fetchWith, readAll, readTarget, runCases, until } from './runner.mjs';

// The SDK reports each signature that is not valid, although one valid signature is enough.
console.debug = () => {};

const { url, binding, token } = readTarget();
const resolver = new DefaultAgentCardResolver();

/** @param {string} credential */
const connect = (credential) => {
  const options = { fetchImpl: fetchWith(credential) };
  const transport = binding === 'JSONRPC' ? new JsonRpcTransportFactory(options) : new RestTransportFactory(options);
  return new ClientFactory({ transports: [transport], cardResolver: resolver }).createFromUrl(url);
};
const client = await connect(token);

/** @param {string} text @param {object} [message] @param {object} [configuration] */
const request = (text, message = {}, configuration) =>
  SendMessageRequest.fromJSON({
    message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...message },
    ...(configuration === undefined ? {} : { configuration }),
  });
/** @param {string} text @param {object} [message] @param {object} [configuration] */
const send = async (text, message, configuration) => {
  const result = await client.sendMessage(request(text, message, configuration));
  check('status' in result, `the result is not a task: ${JSON.stringify(result)}`);
  return result;
};
/** @param {string} text */
const start = (text) => send(text, {}, { returnImmediately: true });
/** @param {Parameters<typeof Task.toJSON>[0]} task */
const encoded = (task) => /** @type {any} */ (Task.toJSON(task));
/** @param {Parameters<typeof Task.toJSON>[0]} task */
const stateOf = (task) => encoded(task).status.state;
/** @param {string} id */
const byId = (id) => ({ id, tenant: '', metadata: undefined });
/** @param {AsyncIterable<any>} stream */
const read = async (stream) =>
  (await readAll(stream)).map((update) => /** @type {any} */ (StreamResponse.toJSON(update)));
/** @param {any[]} updates */
const checkCompleted = (updates) => {
  const last = updates.at(-1)?.statusUpdate?.status.state;
  check(updates[0]?.task !== undefined, `the first update is not a task: ${JSON.stringify(updates[0])}`);
  check(last === 'TASK_STATE_COMPLETED', `the last state is ${last}`);
};

await runCases({
  card: async () => {
    const card = await resolver.resolve(url);
    check(card.supportedInterfaces[0]?.protocolVersion === '1.0', 'the first interface is not one of A2A 1.0');
  },
  'card-signature': async () => {
    const verify = verifyAgentCardSignature(async (keyId, keysUrl) => {
      const { keys } = await (await fetch(/** @type {string} */ (keysUrl))).json();
      return importJWK(keys.find((/** @type {{ kid: string }} */ { kid }) => kid === keyId));
    });
    // The verifier takes the JSON of a card. It drops the security schemes of a card that the resolver has decoded.
    await verify(/** @type {any} */ (AgentCard.toJSON(await resolver.resolve(url))));
  },
  'extended-card': async () => {
    const { capabilities } = await client.getAgentCard();
    check(
      capabilities?.extensions.some(({ uri }) => uri === 'urn:acta:rings'),
      'the card does not name the rings',
    );
  },
  ...(token === ''
    ? {}
    : {
        'extended-card-error': async () => {
          const other = await connect('wrong');
          await expectError(() => other.getAgentCard(), /Unauth|credential|token|401/i);
        },
        'send-unauthorized': async () => {
          const other = await connect('');
          await expectError(() => other.sendMessage(request('hello')), /Unauth|credential|token|401/i);
        },
      }),
  send: async () => {
    const task = await send('hello');
    check(stateOf(task) === 'TASK_STATE_COMPLETED', `the state is ${stateOf(task)}`);
    check(encoded(task).artifacts[0].parts[0].text === 'HELLO', 'the artifact is wrong');
  },
  'send-error': () => expectError(() => send('hello', { taskId: randomUUID() }), /TaskNotFoundError/),
  'send-message': async () => {
    const result = await client.sendMessage(request('reply'));
    check('parts' in result, 'the result is not a message');
  },
  'send-input': async () => {
    const { id, contextId, ...task } = await send('ask');
    check(stateOf({ id, contextId, ...task }) === 'TASK_STATE_INPUT_REQUIRED', 'the task requires no input');
    const continued = await send('go on', { taskId: id, contextId });
    check(continued.id === id && stateOf(continued) === 'TASK_STATE_COMPLETED', 'the task is not completed');
  },
  stream: async () => checkCompleted(await read(client.sendMessageStream(request('one two chunks 3')))),
  'stream-error': () =>
    expectError(() => read(client.sendMessageStream(request('hello', { taskId: randomUUID() }))), /TaskNotFoundError/),
  get: async () => {
    const { id } = await start('sleep 300ms');
    await until(
      () => client.getTask(GetTaskRequest.fromJSON({ id })),
      (task) => stateOf(task) === 'TASK_STATE_COMPLETED',
    );
  },
  'get-error': () =>
    expectError(() => client.getTask(GetTaskRequest.fromJSON({ id: randomUUID() })), /TaskNotFoundError/),
  list: async () => {
    const contextId = randomUUID();
    for (const text of ['a', 'b', 'c']) await send(text, { contextId });
    const ids = new Set();
    let pageToken = '';
    do {
      const page = await client.listTasks(ListTasksRequest.fromJSON({ contextId, pageSize: 2, pageToken }));
      for (const { id } of page.tasks) ids.add(id);
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    check(ids.size === 3, `the pages have ${ids.size} tasks`);
  },
  'list-error': () =>
    expectError(() => client.listTasks(ListTasksRequest.fromJSON({ pageToken: 'wrong' })), /pageToken/),
  subscribe: async () => {
    const { id } = await start('sleep 1s');
    checkCompleted(await read(client.resubscribeTask(byId(id))));
  },
  'subscribe-error': async () => {
    const { id } = await send('hello');
    await expectError(() => read(client.resubscribeTask(byId(id))), /UnsupportedOperationError/);
  },
  cancel: async () => {
    const { id } = await start('sleep 60s');
    const task = await client.cancelTask(byId(id));
    check(stateOf(task) === 'TASK_STATE_CANCELED', `the state is ${stateOf(task)}`);
  },
  'cancel-error': async () => {
    const { id } = await send('hello');
    await expectError(() => client.cancelTask(byId(id)), /TaskNotCancelableError/);
  },
  push: async () => {
    const { id: taskId } = await send('ask');
    const config = {
      taskId,
      url: 'http://127.0.0.1:9/hook',
      token: 'opaque',
      authentication: { scheme: 'Bearer', credentials: 'c' },
    };
    const { id } = await client.createTaskPushNotificationConfig(TaskPushNotificationConfig.fromJSON(config));
    const key = { tenant: '', taskId, id };
    const stored = await client.getTaskPushNotificationConfig(key);
    check(stored.url === config.url, `the URL is ${stored.url}`);
    const list = () => client.listTaskPushNotificationConfig({ tenant: '', taskId, pageSize: 0, pageToken: '' });
    check((await list()).configs.length === 1, 'the list has not one configuration');
    await client.deleteTaskPushNotificationConfig(key);
    check((await list()).configs.length === 0, 'the configuration is not deleted');
  },
  'push-error': async () => {
    const { id: taskId } = await send('ask');
    const key = { tenant: '', taskId, id: 'missing' };
    await expectError(() => client.getTaskPushNotificationConfig(key), /NotFound|not found/);
  },
});
