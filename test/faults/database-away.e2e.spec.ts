import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { DatabaseView } from '../support/database/database-view.js';
import { eventually, http, sendParams, V1Caller } from '../support/clients/rpc.js';
import { type RunningServer, startServer, TOKEN } from '../support/processes/start-server.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { DatabaseProxy } from './fleet/database-proxy.js';

let shared: TestDatabase;
let view: DatabaseView;
let proxy: DatabaseProxy;
let server: RunningServer;

beforeAll(async () => {
  shared = await createTestDatabase();
  view = new DatabaseView(shared.url);
  const { searchParams } = new URL(shared.url);
  proxy = await DatabaseProxy.listen(join(searchParams.get('host')!, `.s.PGSQL.${searchParams.get('port')}`));
  server = await startServer({ databaseUrl: proxy.url(searchParams.get('user')!, shared.name) });
}, 90_000);
afterAll(async () => {
  await server?.stop();
  await proxy?.close();
  await view?.close();
  await shared?.drop();
});

it('says 503 and when to try again while its database is away, whoever asks, and then goes on', async () => {
  const key = await view.createKey({ subject: 'ann' });
  const caller = new V1Caller(server.url, TOKEN);
  const params = sendParams('hello', { message: { messageId: 'sent-into-the-dark' } });
  const { id } = await caller.send('before');
  proxy.goAway();
  const answers = [
    await caller.call('SendMessage', params),
    await caller.call('GetTask', { id }),
    await caller.call('ListTasks', {}),
    await caller.call('CancelTask', { id }),
    await http('GET', `${server.url}/a2a/v1/tasks/${id}`, TOKEN, { headers: { 'A2A-Version': '1.0' } }),
    await http('GET', `${server.url}/a2a/tasks/${id}`, TOKEN),
    await http('GET', `${server.url}/a2a/tasks/${id}/stream`, TOKEN),
    await http('GET', `${server.url}/api/tasks/${id}/events`, TOKEN),
    await http('GET', `${server.url}/a2a/tasks/${id}`, key),
  ];
  for (const { status, headers, text } of answers) {
    expect([status, text]).toEqual([503, expect.stringContaining('the database cannot be asked at the moment')]);
    expect(headers.get('retry-after')).toBe('1');
  }
  expect((await http('GET', `${server.url}/health/ready`, null)).status).toBe(503);
  expect((await http('GET', `${server.url}/health/live`, null)).status).toBe(200);

  proxy.comeBack();
  const { body } = await eventually(
    () => caller.call('SendMessage', params),
    ({ status }) => status === 200,
  );
  expect(body.result).toMatchObject({ task: { status: { state: 'TASK_STATE_COMPLETED' } } });
  expect((await view.streams()).size).toBe(2);
});
