import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '@app/domain';
import pg from 'pg';
import { call, eventually, http, sendParams, V1Caller } from '../../support/clients/rpc.js';
import { stateIn, WebhookReceiver } from '../../support/clients/webhook-receiver.js';
import { type ActaResult, runActa } from '../../support/processes/run-acta.js';
import { environmentFor, type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';

let server: RunningServer;
let caller: V1Caller;
const receivers: WebhookReceiver[] = [];

beforeAll(async () => {
  server = await startServer({ env: { ACTA_PUSH_ALLOW_PRIVATE: 'true' } });
  caller = new V1Caller(server.url, TOKEN);
}, 90_000);
afterAll(async () => {
  await server?.stop();
  for (const receiver of receivers) await receiver.close();
});

async function receiver(...args: Parameters<typeof WebhookReceiver.start>): Promise<WebhookReceiver> {
  const started = await WebhookReceiver.start(...args);
  receivers.push(started);
  return started;
}

interface Push {
  readonly state: string;
  readonly attempts: number;
  readonly lastError: string | null;
}

async function read<T>(path: string): Promise<T> {
  return JSON.parse((await http('GET', `${server.url}${path}`, TOKEN)).text) as T;
}

/** Waits until no delivery of a task is pending, and returns all of them. */
const settledPushes = async (taskId: string): Promise<readonly Push[]> =>
  (
    await eventually(
      () => read<{ pushes: Push[] }>(`/api/tasks/${taskId}/pushes`),
      ({ pushes }) => pushes.length > 0 && pushes.every(({ state }) => state !== 'pending'),
    )
  ).pushes;

async function sql(text: string, ...values: unknown[]): Promise<void> {
  const client = new pg.Client(server.databaseUrl!);
  await client.connect();
  await client.query(text, values).finally(() => client.end());
}

const acta = (...args: string[]): Promise<ActaResult> =>
  runActa(environmentFor(server.databaseUrl, server.dataDir), ...args);

/** The log lines of the server about a task, with their fields. */
const logLinesAbout = (taskId: string): JsonObject[] =>
  server.process.output
    .split('\n')
    .filter((line) => line.startsWith('{') && line.includes(taskId))
    .map((line) => JSON.parse(line) as JsonObject);

const sendTo = (url: string, text = 'hello') =>
  caller.send(text, { configuration: { taskPushNotificationConfig: { url } } });

describe('A webhook whose target responds with status 410', () => {
  it('is removed and recorded, which the native API, the command line, a rebuild and the log show', async () => {
    const hook = await receiver(() => 410);
    const { id } = await sendTo(hook.urlOf('/secret-path'));
    const pushes = await settledPushes(id);
    expect(pushes[0]).toMatchObject({ state: 'dead', lastError: 'the target responded with status 410' });
    expect(pushes.every(({ state }) => state === 'dead')).toBe(true);
    expect(hook.received).toHaveLength(1);

    const listed = await call(server.url, TOKEN, '1.0', 'ListTaskPushNotificationConfigs', { taskId: id });
    expect(listed.body.result).toMatchObject({ configs: [] });
    const { body } = await call(server.url, TOKEN, '1.0', 'GetTaskPushNotificationConfig', { taskId: id, id });
    expect(body.error?.code).toBe(-32001);

    const { events } = await read<{ events: JsonObject[] }>(`/api/tasks/${id}/events`);
    expect(events.at(-1)).toMatchObject({
      type: 'PushConfigDeleted',
      facts: { subject: expect.any(String), configId: id, reason: 'status-410' },
      actor: { subject: 'acta', role: 'system' },
    });
    const timeline = await acta('tasks', 'events', id);
    expect(timeline.stdout).toMatch(new RegExp(`PushConfigDeleted .*webhook ${id}, of \\S+, status-410`));
    expect((await acta('projections', 'rebuild', '--task', id)).code).toBe(0);
    expect(await read(`/api/tasks/${id}`)).not.toHaveProperty('pushConfigs');
    expect((await acta('audit', 'verify')).code).toBe(0);

    const lines = logLinesAbout(id);
    expect(lines[0]).toMatchObject({
      message: 'webhook retired',
      context: 'webhooks',
      status: 410,
      deadDeliveries: pushes.length,
    });
    expect(lines.slice(1)).toMatchObject(pushes.map(() => ({ message: 'webhook delivery dead', reason: 'retired' })));
    expect(server.process.output).not.toContain('secret-path');
  }, 60_000);

  it('receives the events after it is set again with the same id', async () => {
    const hook = await receiver((_webhook, nth) => (nth === 1 ? 410 : 200));
    const { id: taskId } = await caller.send('ask', {
      configuration: { taskPushNotificationConfig: { id: 'mine', url: hook.urlOf() } },
    });
    await settledPushes(taskId);
    const config = { taskId, id: 'mine', url: hook.urlOf('/again') };
    expect(
      (await call(server.url, TOKEN, '1.0', 'CreateTaskPushNotificationConfig', config)).body.error,
    ).toBeUndefined();
    await caller.send('go on', { message: { taskId } });
    await hook.until(({ accepted }) => accepted.some((webhook) => stateIn(webhook) === 'TASK_STATE_COMPLETED'));
    expect(hook.accepted.every(({ path }) => path === '/again')).toBe(true);
  });
});

describe('A delivery that its target rejects', () => {
  it('is dead after one attempt, which the metrics count, and the later ones arrive', async () => {
    const hook = await receiver((_webhook, nth) => (nth === 1 ? 413 : 200));
    const { id } = await sendTo(hook.urlOf());
    const pushes = await settledPushes(id);
    expect(pushes[0]).toMatchObject({
      state: 'dead',
      attempts: 1,
      lastError: 'the target responded with status 413',
    });
    expect(pushes.slice(1).map(({ state }) => state)).toEqual(pushes.slice(1).map(() => 'delivered'));
    expect(logLinesAbout(id)).toMatchObject([
      { message: 'webhook delivery dead', reason: 'rejected', status: 413, attempts: 1 },
    ]);
    const metrics = (await http('GET', `${server.url}/metrics`, null)).text;
    expect(metrics).toMatch(/^acta_webhook_dead_total\{reason="rejected"\} 1$/m);
    expect(metrics).toMatch(/^acta_webhook_attempts_total\{outcome="delivered"\} [1-9]/m);
    expect(metrics).toMatch(/^acta_webhook_deliveries\{state="dead"\} [1-9]/m);
  });
});

describe('A webhook that cannot be decrypted', () => {
  it('is missing in the configurations of its task, can be set again, and does not affect the others', async () => {
    const hook = await receiver();
    const { id: taskId } = await caller.send('ask');
    const create = (id: string) =>
      call(server.url, TOKEN, '1.0', 'CreateTaskPushNotificationConfig', { taskId, id, url: hook.urlOf(`/${id}`) });
    for (const id of ['a', 'b', 'c']) await create(id);
    await sql(`update push_config set sealed_target = '\\x00' where task_id = $1 and config_id = 'b'`, taskId);
    const ids = async () => {
      const { body } = await call(server.url, TOKEN, '1.0', 'ListTaskPushNotificationConfigs', { taskId });
      return (body.result as { configs: { id: string }[] }).configs.map(({ id }) => id);
    };
    expect(await ids()).toEqual(['a', 'c']);
    const { body } = await call(server.url, TOKEN, '1.0', 'GetTaskPushNotificationConfig', { taskId, id: 'b' });
    expect(body.error?.code).toBe(-32001);
    await caller.send('go on', { message: { taskId } });
    const pushes = await settledPushes(taskId);
    expect(pushes.filter(({ state }) => state === 'dead')).toHaveLength(pushes.length / 3);
    await create('b');
    expect(await ids()).toEqual(['a', 'b', 'c']);
  });
});

describe('The requests of a webhook', () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const tracestate = 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE';

  it.each(['1.0', '0.3'] as const)(
    'have the trace context of the request that started the task in %s',
    async (version) => {
      const hook = await receiver();
      const message =
        version === '1.0'
          ? sendParams('hello', { configuration: { taskPushNotificationConfig: { url: hook.urlOf() } } })
          : {
              message: {
                kind: 'message',
                messageId: `m-${version}`,
                role: 'user',
                parts: [{ kind: 'text', text: 'hi' }],
              },
              configuration: { blocking: true, pushNotificationConfig: { url: hook.urlOf() } },
            };
      const method = version === '1.0' ? 'SendMessage' : 'message/send';
      await http('POST', `${server.url}/a2a`, TOKEN, {
        headers: { 'A2A-Version': version, traceparent, tracestate },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: message }),
      });
      await hook.until(({ accepted }) => accepted.some((webhook) => /completed$/i.test(stateIn(webhook) ?? '')));
      for (const { headers } of hook.accepted) expect(headers).toMatchObject({ traceparent, tracestate });
    },
  );

  it('have the trace context of the request that canceled the task', async () => {
    const hook = await receiver();
    const { id } = await sendTo(hook.urlOf(), 'ask');
    await http('DELETE', `${server.url}/a2a/tasks/${id}`, TOKEN, { headers: { traceparent } });
    await hook.until(({ accepted }) => accepted.some((webhook) => stateIn(webhook) === 'TASK_STATE_CANCELED'));
    const { headers } = hook.accepted.find((webhook) => stateIn(webhook) === 'TASK_STATE_CANCELED')!;
    expect(headers).toMatchObject({ traceparent });
    expect(headers).not.toHaveProperty('tracestate');
    const events = await read<{ events: JsonObject[] }>(`/api/tasks/${id}/events`);
    expect(events.events.at(-1)).toMatchObject({ traceParent: traceparent, traceState: null });
  });
});
