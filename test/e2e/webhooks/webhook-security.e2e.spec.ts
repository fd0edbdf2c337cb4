import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { DatabaseView } from '../../support/database/database-view.js';
import { call, http, sendParams, V1Caller } from '../../support/clients/rpc.js';
import { type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';
import { type ReceivedWebhook, stateIn, WebhookReceiver } from '../../support/clients/webhook-receiver.js';

const CREDENTIALS = 'secret-webhook-credentials';
const NOTIFICATION_TOKEN = 'secret-notification-token';

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

const deliveriesFor = (id: string): ReceivedWebhook[] => hook.accepted.filter(({ text }) => text.includes(id));

describe('webhooks', () => {
  it('receive signatures that the verifier in docs/webhooks.md accepts', async () => {
    const { id } = await caller.send('hello', { configuration: { taskPushNotificationConfig: { url: hook.urlOf() } } });
    await hook.until(() => deliveriesFor(id).length > 0);
    const [{ headers, text }] = deliveriesFor(id) as [ReceivedWebhook];
    const signature = String(headers['x-acta-signature']);
    const verified = await verifier(server.url);
    expect(await verified(signature, text)).toBe('true');
    expect(await verified(signature, text.replace('WORKING', 'COMPLETED'))).toBe('false');
    expect(await verified(signature.replace(/^t=\d/, 't=2'), text)).toBe('false');
    expect(await verified(signature, text, Date.now() / 1000 + 600)).toBe('false');
  });

  it('have secrets that appear neither in the database nor in the log of the server', async () => {
    const { id } = await caller.send('hello', {
      configuration: {
        taskPushNotificationConfig: {
          url: hook.urlOf('/path-that-is-content'),
          token: NOTIFICATION_TOKEN,
          authentication: { scheme: 'Bearer', credentials: CREDENTIALS },
        },
      },
    });
    await hook.until(() => deliveriesFor(id).some((delivery) => stateIn(delivery) === 'TASK_STATE_COMPLETED'));
    const dump = await everythingIn(server.databaseUrl!);
    expect(dump).toContain(id);
    for (const secret of [CREDENTIALS, NOTIFICATION_TOKEN, 'path-that-is-content']) {
      for (const form of [secret, Buffer.from(secret).toString('hex'), Buffer.from(secret).toString('base64')]) {
        expect(dump).not.toContain(form);
      }
      expect(server.process.output).not.toContain(secret);
    }
    const events = await http('GET', `${server.url}/api/tasks/${id}/events`, TOKEN);
    expect(events.text).toContain('PushConfigSet');
    expect(events.text).not.toContain(CREDENTIALS);
    expect(events.text).not.toContain(NOTIFICATION_TOKEN);
  });

  // F31
  it('are missing to a caller who cannot access the task', async () => {
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
});

describe('a server', () => {
  // [A2A-PUSH-5]
  // F33
  it('rejects a webhook with http or a private address, also in a send', async () => {
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

  it('rejects every push operation if it does not offer push notifications', async () => {
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

/** Returns the Node program of docs/webhooks.md, which runs in its own process. */
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

/** Returns every row of every table as text. */
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
