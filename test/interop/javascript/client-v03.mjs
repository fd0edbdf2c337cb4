// Runs the cases with the official JavaScript SDK of A2A 0.3.
import { randomUUID } from 'node:crypto';
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from 'a2a-js-sdk-v03/client';
import { check, expectError, fetchWith, readAll, readTarget, runCases, until } from './runner.mjs';

const { url, binding, token } = readTarget();
const resolver = new DefaultAgentCardResolver();

/** @param {string} credential */
const connect = (credential) => {
  const options = { fetchImpl: fetchWith(credential) };
  const transport = binding === 'JSONRPC' ? new JsonRpcTransportFactory(options) : new RestTransportFactory(options);
  const preferredTransports = [binding];
  return new ClientFactory({ transports: [transport], cardResolver: resolver, preferredTransports }).createFromUrl(url);
};
const client = await connect(token);

/** @param {string} text @param {object} [message] @param {object} [configuration] */
const request = (text, message = {}, configuration) =>
  /** @type {any} */ ({
    message: { kind: 'message', messageId: randomUUID(), role: 'user', parts: [{ kind: 'text', text }], ...message },
    ...(configuration === undefined ? {} : { configuration }),
  });
/** @param {string} text @param {object} [message] @param {object} [configuration] */
const send = async (text, message, configuration) => {
  const result = /** @type {any} */ (await client.sendMessage(request(text, message, configuration)));
  check(result.kind === 'task', `the result is not a task: ${JSON.stringify(result)}`);
  return result;
};
/** @param {string} text */
const start = (text) => send(text, {}, { blocking: false });
/** @param {any[]} updates */
const checkCompleted = (updates) => {
  const last = updates.at(-1);
  check(updates[0]?.kind === 'task', `the first update is not a task: ${JSON.stringify(updates[0])}`);
  check(last.status?.state === 'completed' && last.final, `the last update is ${JSON.stringify(last)}`);
};

await runCases({
  card: async () => {
    const card = await resolver.resolve(url);
    check(card.protocolVersion === '0.3.0' && card.url === `${url}/a2a`, 'the card is not one of A2A 0.3');
  },
  'extended-card': async () => {
    const { capabilities } = await client.getAgentCard();
    check(
      capabilities.extensions?.some(({ uri }) => uri === 'urn:acta:rings'),
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
    check(task.status.state === 'completed', `the state is ${task.status.state}`);
    check(task.artifacts[0].parts[0].text === 'HELLO', 'the artifact is wrong');
  },
  'send-error': () => expectError(() => send('hello', { taskId: randomUUID() }), /not found/),
  'send-message': async () => {
    const result = await client.sendMessage(request('reply'));
    check(result.kind === 'message', 'the result is not a message');
  },
  'send-input': async () => {
    const { id, contextId, status } = await send('ask');
    check(status.state === 'input-required', 'the task requires no input');
    const continued = await send('go on', { taskId: id, contextId });
    check(continued.id === id && continued.status.state === 'completed', 'the task is not completed');
  },
  stream: async () => checkCompleted(await readAll(client.sendMessageStream(request('one two chunks 3')))),
  'stream-error': () =>
    expectError(() => readAll(client.sendMessageStream(request('hello', { taskId: randomUUID() }))), /not found/),
  get: async () => {
    const { id } = await start('sleep 300ms');
    await until(
      () => client.getTask({ id }),
      (task) => task.status.state === 'completed',
    );
  },
  'get-error': () => expectError(() => client.getTask({ id: randomUUID() }), /not found/),
  subscribe: async () => {
    const { id } = await start('sleep 1s');
    checkCompleted(await readAll(client.resubscribeTask({ id })));
  },
  'subscribe-error': async () => {
    const { id } = await send('hello');
    await expectError(() => readAll(client.resubscribeTask({ id })), /completed/);
  },
  cancel: async () => {
    const { id } = await start('sleep 60s');
    const task = await client.cancelTask({ id });
    check(task.status.state === 'canceled', `the state is ${task.status.state}`);
  },
  'cancel-error': async () => {
    const { id } = await send('hello');
    await expectError(() => client.cancelTask({ id }), /cancel/i);
  },
  push: async () => {
    const { id: taskId } = await send('ask');
    const authentication = { schemes: ['Bearer'], credentials: 'c' };
    const pushNotificationConfig = { url: 'http://127.0.0.1:9/hook', token: 'opaque', authentication };
    const created = await client.setTaskPushNotificationConfig({ taskId, pushNotificationConfig });
    const key = { id: taskId, pushNotificationConfigId: /** @type {string} */ (created.pushNotificationConfig.id) };
    const stored = await client.getTaskPushNotificationConfig(key);
    check(stored.pushNotificationConfig.url === pushNotificationConfig.url, 'the URL is wrong');
    const list = () => client.listTaskPushNotificationConfig({ id: taskId });
    check((await list()).length === 1, 'the list has not one configuration');
    await client.deleteTaskPushNotificationConfig(key);
    check((await list()).length === 0, 'the configuration is not deleted');
  },
  'push-error': async () => {
    const { id } = await send('ask');
    const key = { id, pushNotificationConfigId: 'missing' };
    await expectError(() => client.getTaskPushNotificationConfig(key), /NotFound|not found/);
  },
});
