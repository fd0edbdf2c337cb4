import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { JsonObject } from '@app/domain';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { ActaProcess } from '../../support/processes/acta-process.js';
import { DatabaseView } from '../../support/database/database-view.js';
import { call, eventually, http, sendParams, V1Caller, type WireTask } from '../../support/clients/rpc.js';
import { environmentFor, type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';
import { type ReceivedWebhook, stateIn, WebhookReceiver } from '../../support/clients/webhook-receiver.js';

const CREDENTIALS = 'credentials-that-nobody-may-see';
const NOTIFICATION_TOKEN = 'token-that-only-its-owner-sees';

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

async function ask<T = JsonObject>(version: '1.0' | '0.3', method: string, params: JsonObject): Promise<T> {
  const { body, text } = await call(server.url, TOKEN, version, method, params);
  if (body.result === undefined) throw new Error(text);
  return body.result as T;
}
const toldOf = (id: string): ReceivedWebhook[] => hook.accepted.filter(({ text }) => text.includes(id));

describe('webhooks', () => {
  // [A2A-PUSH-1]
  it('are told by one send of everything up to the end, in the words of 1.0 (F35)', async () => {
    const taskPushNotificationConfig = {
      url: hook.urlOf('/inline'),
      token: NOTIFICATION_TOKEN,
      authentication: { scheme: 'Bearer', credentials: CREDENTIALS },
    };
    const { id } = await caller.send('chunks 2', { configuration: { taskPushNotificationConfig } });
    await hook.until(() => toldOf(id).some((push) => stateIn(push) === 'TASK_STATE_COMPLETED'));
    const told = toldOf(id);
    expect(stateIn(told[0]!)).toBe('TASK_STATE_WORKING');
    expect(told.some(({ body }) => 'artifactUpdate' in body)).toBe(true);
    for (const { headers, path } of told) {
      expect(path).toBe('/inline');
      expect(headers['content-type']).toBe('application/a2a+json');
      expect(headers['x-a2a-notification-token']).toBe(NOTIFICATION_TOKEN);
      expect(headers.authorization).toBe(`Bearer ${CREDENTIALS}`);
    }
    // The unnamed one has the id of its task.
    expect(await ask('1.0', 'GetTaskPushNotificationConfig', { taskId: id, id })).toEqual({
      id,
      taskId: id,
      url: hook.urlOf('/inline'),
      token: NOTIFICATION_TOKEN,
      authentication: { scheme: 'Bearer' },
    });
  });

  it('are told of the whole task in 0.3', async () => {
    const params = {
      message: { kind: 'message', messageId: 'push-03', role: 'user', parts: [{ kind: 'text', text: 'hello' }] },
      configuration: { blocking: true, pushNotificationConfig: { url: hook.urlOf('/v03') } },
    };
    const { id } = await ask<WireTask>('0.3', 'message/send', params as unknown as JsonObject);
    await hook.until(() => toldOf(id).some((push) => stateIn(push) === 'completed'));
    expect(toldOf(id).map(({ body }) => body['kind'])).toEqual(toldOf(id).map(() => 'task'));
    expect(toldOf(id).at(-1)!.body).toMatchObject({ id, artifacts: [{ parts: [{ text: 'HELLO' }] }] });
  });

  it.each([
    [
      '1.0',
      (config: JsonObject, taskId: string) => ask('1.0', 'CreateTaskPushNotificationConfig', { ...config, taskId }),
    ],
    [
      '0.3',
      (pushNotificationConfig: JsonObject, taskId: string) =>
        ask('0.3', 'tasks/pushNotificationConfig/set', { taskId, pushNotificationConfig }),
    ],
  ] as const)('are set, read, listed and deleted on an ended task in %s', async (version, create) => {
    const { id: taskId } = await caller.send('hello');
    const url = hook.urlOf('/ended');
    for (const id of ['b', 'a', 'c']) await create({ id, url, token: id }, taskId);
    if (version === '1.0') {
      const list = (params: JsonObject) =>
        ask<JsonObject>('1.0', 'ListTaskPushNotificationConfigs', { taskId, ...params });
      const first = await list({ pageSize: 2 });
      expect(first['configs']).toMatchObject([{ id: 'a' }, { id: 'b' }]);
      const rest = await list({ pageSize: 2, pageToken: first['nextPageToken']! });
      expect(rest).toMatchObject({ configs: [{ id: 'c', taskId, url, token: 'c' }], nextPageToken: '' });
      expect(await ask('1.0', 'GetTaskPushNotificationConfig', { taskId, id: 'b' })).toMatchObject({ id: 'b', url });
      const drop = () => ask('1.0', 'DeleteTaskPushNotificationConfig', { taskId, id: 'b' });
      expect([await drop(), await drop()]).toEqual([{}, {}]);
      const gone = await call(server.url, TOKEN, '1.0', 'GetTaskPushNotificationConfig', { taskId, id: 'b' });
      expect(gone.body.error?.code).toBe(-32001);
      return;
    }
    const list = () => ask<JsonObject[]>('0.3', 'tasks/pushNotificationConfig/list', { id: taskId });
    expect((await list()).map(({ pushNotificationConfig }) => (pushNotificationConfig as JsonObject)['id'])).toEqual([
      'a',
      'b',
      'c',
    ]);
    const params = { id: taskId, pushNotificationConfigId: 'b' };
    expect(await ask('0.3', 'tasks/pushNotificationConfig/get', params)).toMatchObject({
      taskId,
      pushNotificationConfig: { id: 'b', url },
    });
    const drop = () => ask('0.3', 'tasks/pushNotificationConfig/delete', params);
    expect([await drop(), await drop()]).toEqual([null, null]);
    expect(await list()).toHaveLength(2);
  });

  // [A2A-PUSH-4]
  it('hear nothing once they are deleted', async () => {
    const { id: taskId } = await caller.send('ask');
    const config = await ask<{ id: string }>('1.0', 'CreateTaskPushNotificationConfig', { taskId, url: hook.urlOf() });
    await ask('1.0', 'DeleteTaskPushNotificationConfig', { taskId, id: config.id });
    await caller.send('go on', { message: { taskId } });
    const { text } = await http('GET', `${server.url}/api/tasks/${taskId}/pushes`, TOKEN);
    expect(JSON.parse(text)).toMatchObject({ pushes: [] });
    expect(toldOf(taskId)).toEqual([]);
  });

  it('show what became of each delivery', async () => {
    const { id } = await caller.send('hello', {
      configuration: { taskPushNotificationConfig: { url: 'http://127.0.0.1:9/' } },
    });
    const pushes = async (query = '') =>
      JSON.parse((await http('GET', `${server.url}/api/tasks/${id}/pushes${query}`, TOKEN)).text) as {
        pushes: { version: number; state: string; lastError: string; attempts: number }[];
        nextAfter: number | null;
      };
    const tried = await eventually(pushes, (answer) => (answer.pushes[0]?.attempts ?? 0) > 0);
    expect(tried.pushes[0]).toMatchObject({ state: 'pending', lastError: 'the connection failed (ECONNREFUSED)' });
    const page = await pushes('?limit=1');
    expect(page.pushes).toHaveLength(1);
    expect(page.nextAfter).toBe(page.pushes[0]!.version);
    expect((await pushes(`?after=${page.nextAfter}`)).pushes).toHaveLength(tried.pushes.length - 1);
  });

  it('are listed and told once more from the command line', async () => {
    let down = true;
    const flaky = await WebhookReceiver.start(() => (down ? 500 : 200));
    const { id } = await caller.send('hello', {
      configuration: { taskPushNotificationConfig: { url: flaky.urlOf() } },
    });
    await flaky.until(({ received }) => received.length > 0);
    // As after two hours of it.
    await sql(server.databaseUrl!, `update push_config set next_attempt_at = null, lease = null`);
    await sql(server.databaseUrl!, `update push_delivery set state = 'dead', attempts = 15 where state = 'pending'`);
    const acta = async (...args: string[]) => {
      const cli = new ActaProcess('cli', environmentFor(server.databaseUrl, server.dataDir), ['pushes', ...args]);
      expect(await cli.exited).toEqual({ code: 0, signal: null });
      return cli.logs;
    };
    const listed = JSON.parse(await acta('list', '--task', id, '--json')) as { state: string; attempts: number }[];
    expect(listed.length).toBeGreaterThan(1);
    expect(listed.every(({ state }) => state === 'dead')).toBe(true);
    down = false;
    expect(await acta('retry', '--task', id)).toContain(id);
    await flaky.until(({ accepted: taken }) => taken.length === listed.length);
    expect(flaky.accepted.map(stateIn).at(-1)).toBe('TASK_STATE_COMPLETED');
    await eventually(
      () => acta('list', '--task', id),
      (text) => text.includes('There are no such deliveries.'),
    );
    await flaky.close();
  }, 60_000);

  it('are signed, as the verifier in docs/webhooks.md can tell', async () => {
    const { id } = await caller.send('hello', { configuration: { taskPushNotificationConfig: { url: hook.urlOf() } } });
    await hook.until(() => toldOf(id).length > 0);
    const [{ headers, text }] = toldOf(id) as [ReceivedWebhook];
    const signature = String(headers['x-acta-signature']);
    const verified = await verifier(server.url);
    expect(await verified(signature, text)).toBe('true');
    expect(await verified(signature, text.replace('WORKING', 'COMPLETED'))).toBe('false');
    expect(await verified(signature.replace(/^t=\d/, 't=2'), text)).toBe('false');
    expect(await verified(signature, text, Date.now() / 1000 + 600)).toBe('false');
  });

  it('keep their secrets: neither the database nor the log of the server shows them', async () => {
    const { id } = await caller.send('hello', {
      configuration: {
        taskPushNotificationConfig: {
          url: hook.urlOf('/path-that-is-content'),
          token: NOTIFICATION_TOKEN,
          authentication: { scheme: 'Bearer', credentials: CREDENTIALS },
        },
      },
    });
    await hook.until(() => toldOf(id).some((push) => stateIn(push) === 'TASK_STATE_COMPLETED'));
    const dump = await everythingIn(server.databaseUrl!);
    expect(dump).toContain(id);
    for (const secret of [CREDENTIALS, NOTIFICATION_TOKEN, 'path-that-is-content']) {
      for (const form of [secret, Buffer.from(secret).toString('hex'), Buffer.from(secret).toString('base64')]) {
        expect(dump).not.toContain(form);
      }
      expect(server.process.logs).not.toContain(secret);
    }
    const events = await http('GET', `${server.url}/api/tasks/${id}/events`, TOKEN);
    expect(events.text).toContain('PushConfigSet');
    expect(events.text).not.toContain(CREDENTIALS);
    expect(events.text).not.toContain(NOTIFICATION_TOKEN);
  });

  it('belong to whoever sees the task (F31)', async () => {
    const database = new DatabaseView(server.databaseUrl!);
    const stranger = await database.createKey({ subject: 'mallory' });
    await database.close();
    const { id: taskId } = await caller.send('hello');
    const url = hook.urlOf();
    for (const [method, params] of [
      ['CreateTaskPushNotificationConfig', { url }],
      ['GetTaskPushNotificationConfig', { id: 'x' }],
      ['ListTaskPushNotificationConfigs', {}],
      ['DeleteTaskPushNotificationConfig', { id: 'x' }],
    ] as const) {
      const foreign = await call(server.url, stranger, '1.0', method, { ...params, taskId });
      const missing = await call(server.url, stranger, '1.0', method, { ...params, taskId: 'no-such-task' });
      expect(foreign.body.error?.code).toBe(-32001);
      expect(foreign.text.replaceAll(taskId, 'T')).toBe(missing.text.replaceAll('no-such-task', 'T'));
    }
  });

  it('have as long to answer as the server was told', async () => {
    const silent = await WebhookReceiver.start(() => 'never');
    const hasty = await startServer({ env: { ACTA_PUSH_ALLOW_PRIVATE: 'true', ACTA_PUSH_TIMEOUT_MS: '300' } });
    try {
      const configuration = { taskPushNotificationConfig: { url: silent.urlOf() } };
      const { id } = await new V1Caller(hasty.url, TOKEN).send('hello', { configuration });
      const { text } = await eventually(
        () => http('GET', `${hasty.url}/api/tasks/${id}/pushes`, TOKEN),
        (answer) => answer.text.includes('no answer'),
      );
      const { pushes } = JSON.parse(text) as { pushes: JsonObject[] };
      expect(pushes[0]).toMatchObject({ state: 'pending', lastError: 'no answer within 0.3 s' });
    } finally {
      await hasty.stop();
      await silent.close();
    }
  }, 60_000);
});

describe('a server that may not tell private addresses', () => {
  // [A2A-PUSH-5]
  it('refuses http and literal addresses when they are set, with a message too (F33)', async () => {
    const strict = await startServer();
    try {
      for (const url of [
        'http://example.com/',
        'https://127.0.0.1/',
        'https://[::ffff:7f00:1]/',
        'https://u:p@x.org/',
      ]) {
        const { body } = await call(strict.url, TOKEN, '1.0', 'SendMessage', {
          ...sendParams('hello', { configuration: { taskPushNotificationConfig: { url } } }),
        });
        expect(body.error?.code).toBe(-32602);
      }
      expect((await new V1Caller(strict.url, TOKEN).list()).totalSize).toBe(0);
    } finally {
      await strict.stop();
    }
  }, 60_000);

  it('refuses every push operation, where it does not offer them', async () => {
    const without = await startServer({ env: { ACTA_CAPABILITIES: 'streaming' } });
    try {
      const config = { url: 'https://example.com/' };
      for (const [method, params] of [
        ['CreateTaskPushNotificationConfig', { taskId: 't', ...config }],
        ['GetTaskPushNotificationConfig', { taskId: 't', id: 'x' }],
        ['ListTaskPushNotificationConfigs', { taskId: 't' }],
        ['DeleteTaskPushNotificationConfig', { taskId: 't', id: 'x' }],
        ['SendMessage', sendParams('hello', { configuration: { taskPushNotificationConfig: config } })],
      ] as const) {
        expect((await call(without.url, TOKEN, '1.0', method, params)).body.error?.code).toBe(-32003);
      }
    } finally {
      await without.stop();
    }
  }, 60_000);
});

/** The Node program of docs/webhooks.md, run as a receiver would run it. */
async function verifier(url: string) {
  const page = await readFile(new URL('../../../docs/webhooks.md', import.meta.url), 'utf8');
  const code = /```js\n([\s\S]*?)```/.exec(page)![1]!;
  return async (signature: string, body: string, now = Date.now() / 1000): Promise<string> => {
    const folder = await mkdtemp(join(tmpdir(), 'acta-verifier-'));
    const program = `${code}
const [url, signature, body, now] = process.argv.slice(2);
console.log(await isFromActa(url, signature, Buffer.from(body), Number(now)));`;
    await writeFile(join(folder, 'verifier.mjs'), program);
    const args = [join(folder, 'verifier.mjs'), url, signature, body, String(now)];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    await rm(folder, { recursive: true });
    return stdout.trim();
  };
}

async function sql(databaseUrl: string, text: string): Promise<void> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  await client.query(text).finally(() => client.end());
}

/** Every row of every table as text. */
async function everythingIn(databaseUrl: string): Promise<string> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  const { rows } = await client.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public'`,
  );
  const dumps: string[] = [];
  for (const { name } of rows) {
    dumps.push(JSON.stringify((await client.query(`select t::text from ${name} t`)).rows));
  }
  await client.end();
  return dumps.join('\n');
}
