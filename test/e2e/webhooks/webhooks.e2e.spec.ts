import type { JsonObject } from '@app/domain';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { ActaProcess } from '../../support/processes/acta-process.js';
import { call, eventually, http, V1Caller, type WireTask } from '../../support/clients/rpc.js';
import { environmentFor, type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';
import { type ReceivedWebhook, stateIn, WebhookReceiver } from '../../support/clients/webhook-receiver.js';

const CREDENTIALS = 'webhook-credentials';
const NOTIFICATION_TOKEN = 'notification-token';

let server: RunningServer;
let hook: WebhookReceiver;
let caller: V1Caller;

beforeAll(async () => {
  hook = await WebhookReceiver.start();
  server = await startServer({ env: { ACTA_PUSH_ALLOW_PRIVATE: 'true' } });
  caller = new V1Caller(server.url, TOKEN);
}, 90_000);
afterAll(async () => {
  await server?.stop();
  await hook?.close();
});

/** Calls a method and returns its result. */
async function resultOf<T = JsonObject>(version: '1.0' | '0.3', method: string, params: JsonObject): Promise<T> {
  const { body, text } = await call(server.url, TOKEN, version, method, params);
  if (body.result === undefined) throw new Error(text);
  return body.result as T;
}
const deliveriesFor = (id: string): ReceivedWebhook[] => hook.accepted.filter(({ text }) => text.includes(id));

describe('webhooks', () => {
  // [A2A-PUSH-1]
  // F35
  it('receive every event of a task that one send has created, in the format of 1.0', async () => {
    const taskPushNotificationConfig = {
      url: hook.urlOf('/inline'),
      token: NOTIFICATION_TOKEN,
      authentication: { scheme: 'Bearer', credentials: CREDENTIALS },
    };
    const { id } = await caller.send('chunks 2', { configuration: { taskPushNotificationConfig } });
    await hook.until(() => deliveriesFor(id).some((delivery) => stateIn(delivery) === 'TASK_STATE_COMPLETED'));
    const deliveries = deliveriesFor(id);
    expect(stateIn(deliveries[0]!)).toBe('TASK_STATE_WORKING');
    expect(deliveries.some(({ body }) => 'artifactUpdate' in body)).toBe(true);
    for (const { headers, path } of deliveries) {
      expect(path).toBe('/inline');
      expect(headers['content-type']).toBe('application/a2a+json');
      expect(headers['x-a2a-notification-token']).toBe(NOTIFICATION_TOKEN);
      expect(headers.authorization).toBe(`Bearer ${CREDENTIALS}`);
    }
    // A configuration without an id gets the id of its task.
    expect(await resultOf('1.0', 'GetTaskPushNotificationConfig', { taskId: id, id })).toEqual({
      id,
      taskId: id,
      url: hook.urlOf('/inline'),
      token: NOTIFICATION_TOKEN,
      authentication: { scheme: 'Bearer' },
    });
  });

  it('receive the whole task in 0.3', async () => {
    const params = {
      message: { kind: 'message', messageId: 'push-03', role: 'user', parts: [{ kind: 'text', text: 'hello' }] },
      configuration: { blocking: true, pushNotificationConfig: { url: hook.urlOf('/v03') } },
    };
    const { id } = await resultOf<WireTask>('0.3', 'message/send', params as unknown as JsonObject);
    await hook.until(() => deliveriesFor(id).some((delivery) => stateIn(delivery) === 'completed'));
    expect(deliveriesFor(id).map(({ body }) => body['kind'])).toEqual(deliveriesFor(id).map(() => 'task'));
    expect(deliveriesFor(id).at(-1)!.body).toMatchObject({ id, artifacts: [{ parts: [{ text: 'HELLO' }] }] });
  });

  it('are set, read, listed and deleted on a completed task in 1.0', async () => {
    const { id: taskId } = await caller.send('hello');
    const url = hook.urlOf('/ended');
    const params = (id: string) => ({ taskId, id });
    for (const id of ['b', 'a', 'c']) {
      await resultOf('1.0', 'CreateTaskPushNotificationConfig', { ...params(id), url, token: id });
    }
    const list = (page: JsonObject) =>
      resultOf<JsonObject>('1.0', 'ListTaskPushNotificationConfigs', { taskId, ...page });
    const first = await list({ pageSize: 2 });
    expect(first['configs']).toMatchObject([{ id: 'a' }, { id: 'b' }]);
    const second = await list({ pageSize: 2, pageToken: first['nextPageToken']! });
    expect(second).toMatchObject({ configs: [{ id: 'c', taskId, url, token: 'c' }], nextPageToken: '' });
    expect(await resultOf('1.0', 'GetTaskPushNotificationConfig', params('b'))).toMatchObject({ id: 'b', url });
    const remove = () => resultOf('1.0', 'DeleteTaskPushNotificationConfig', params('b'));
    expect([await remove(), await remove()]).toEqual([{}, {}]);
    const deleted = await call(server.url, TOKEN, '1.0', 'GetTaskPushNotificationConfig', params('b'));
    expect(deleted.body.error?.code).toBe(-32001);
  });

  it('are set, read, listed and deleted on a completed task in 0.3', async () => {
    const { id: taskId } = await caller.send('hello');
    const url = hook.urlOf('/ended');
    for (const id of ['b', 'a', 'c']) {
      const pushNotificationConfig = { id, url, token: id };
      await resultOf('0.3', 'tasks/pushNotificationConfig/set', { taskId, pushNotificationConfig });
    }
    const ids = async () => {
      const configs = await resultOf<JsonObject[]>('0.3', 'tasks/pushNotificationConfig/list', { id: taskId });
      return configs.map(({ pushNotificationConfig }) => (pushNotificationConfig as JsonObject)['id']);
    };
    expect(await ids()).toEqual(['a', 'b', 'c']);
    const params = { id: taskId, pushNotificationConfigId: 'b' };
    expect(await resultOf('0.3', 'tasks/pushNotificationConfig/get', params)).toMatchObject({
      taskId,
      pushNotificationConfig: { id: 'b', url },
    });
    const remove = () => resultOf('0.3', 'tasks/pushNotificationConfig/delete', params);
    expect([await remove(), await remove()]).toEqual([null, null]);
    expect(await ids()).toEqual(['a', 'c']);
  });

  // [A2A-PUSH-4]
  it('receive nothing after they are deleted', async () => {
    const { id: taskId } = await caller.send('ask');
    const config = await resultOf<{ id: string }>('1.0', 'CreateTaskPushNotificationConfig', {
      taskId,
      url: hook.urlOf(),
    });
    await resultOf('1.0', 'DeleteTaskPushNotificationConfig', { taskId, id: config.id });
    await caller.send('go on', { message: { taskId } });
    const { text } = await http('GET', `${server.url}/api/tasks/${taskId}/pushes`, TOKEN);
    expect(JSON.parse(text)).toMatchObject({ pushes: [] });
    expect(deliveriesFor(taskId)).toEqual([]);
  });

  it('have deliveries whose state and last error the native API lists', async () => {
    const { id } = await caller.send('hello', {
      configuration: { taskPushNotificationConfig: { url: 'http://127.0.0.1:9/' } },
    });
    const pushes = async (query = '') =>
      JSON.parse((await http('GET', `${server.url}/api/tasks/${id}/pushes${query}`, TOKEN)).text) as {
        pushes: { version: number; state: string; lastError: string; attempts: number }[];
        nextAfter: number | null;
      };
    const attempted = await eventually(pushes, (page) => (page.pushes[0]?.attempts ?? 0) > 0);
    expect(attempted.pushes[0]).toMatchObject({ state: 'pending', lastError: 'the connection failed (ECONNREFUSED)' });
    const page = await pushes('?limit=1');
    expect(page.pushes).toHaveLength(1);
    expect(page.nextAfter).toBe(page.pushes[0]!.version);
    expect((await pushes(`?after=${page.nextAfter}`)).pushes).toHaveLength(attempted.pushes.length - 1);
  });

  it('have deliveries that the command line lists and retries', async () => {
    let down = true;
    const flaky = await WebhookReceiver.start(() => (down ? 500 : 200));
    const { id } = await caller.send('hello', {
      configuration: { taskPushNotificationConfig: { url: flaky.urlOf() } },
    });
    await flaky.until(({ received }) => received.length > 0);
    // The state after all attempts, which take two hours.
    await sql(server.databaseUrl!, `update push_config set next_attempt_at = null, lease = null`);
    await sql(server.databaseUrl!, `update push_delivery set state = 'dead', attempts = 15 where state = 'pending'`);
    const acta = async (...args: string[]) => {
      const cli = new ActaProcess('cli', environmentFor(server.databaseUrl, server.dataDir), ['pushes', ...args]);
      expect(await cli.exited).toEqual({ code: 0, signal: null });
      return cli.output;
    };
    const listed = JSON.parse(await acta('list', '--task', id, '--json')) as { state: string; attempts: number }[];
    expect(listed.length).toBeGreaterThan(1);
    expect(listed.every(({ state }) => state === 'dead')).toBe(true);
    down = false;
    expect(await acta('retry', '--task', id)).toContain(id);
    await flaky.until(({ accepted }) => accepted.length === listed.length);
    expect(flaky.accepted.map(stateIn).at(-1)).toBe('TASK_STATE_COMPLETED');
    await eventually(
      () => acta('list', '--task', id),
      (text) => text.includes('No deliveries.'),
    );
    await flaky.close();
  }, 60_000);

  it('must respond within ACTA_PUSH_TIMEOUT_MS', async () => {
    const silent = await WebhookReceiver.start(() => 'never');
    const hasty = await startServer({ env: { ACTA_PUSH_ALLOW_PRIVATE: 'true', ACTA_PUSH_TIMEOUT_MS: '300' } });
    try {
      const configuration = { taskPushNotificationConfig: { url: silent.urlOf() } };
      const { id } = await new V1Caller(hasty.url, TOKEN).send('hello', { configuration });
      const { text } = await eventually(
        () => http('GET', `${hasty.url}/api/tasks/${id}/pushes`, TOKEN),
        (response) => response.text.includes('no response'),
      );
      const { pushes } = JSON.parse(text) as { pushes: JsonObject[] };
      expect(pushes[0]).toMatchObject({ state: 'pending', lastError: 'no response within 0.3 s' });
    } finally {
      await hasty.stop();
      await silent.close();
    }
  }, 60_000);
});

async function sql(databaseUrl: string, text: string): Promise<void> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  await client.query(text).finally(() => client.end());
}
