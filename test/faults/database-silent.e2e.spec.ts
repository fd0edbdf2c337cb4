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
  proxy?.letGo();
  await server?.stop();
  await proxy?.close();
  await view?.close();
  await shared?.drop();
}, 90_000);

it('says 503 while its database is silent, whoever asks, and goes on with the same record when it is heard again', async () => {
  const caller = new V1Caller(server.url, TOKEN);
  const params = sendParams('hello', { message: { messageId: 'sent-into-the-silence' } });
  const { id } = await caller.send('before');
  proxy.hold();
  const answers = await Promise.all([
    caller.call('SendMessage', params),
    caller.call('GetTask', { id }),
    caller.call('ListTasks', {}),
    http('GET', `${server.url}/api/tasks/${id}/events`, TOKEN),
    // More than there are connections.
    ...Array.from({ length: 30 }, () => http('GET', `${server.url}/a2a/tasks/${id}`, TOKEN)),
  ]);
  for (const { status, headers, text } of answers) {
    expect([status, text]).toEqual([503, expect.stringContaining('the database cannot be asked at the moment')]);
    expect(headers.get('retry-after')).toBe('1');
  }
  expect((await http('GET', `${server.url}/health/ready`, null)).status).toBe(503);

  // What was asked in the meantime arrives, late: also the append of the message that was told 503.
  proxy.letGo();
  const { body } = await eventually(
    () => caller.call('SendMessage', params),
    ({ status }) => status === 200,
  );
  expect(body.result).toMatchObject({ task: { status: { state: 'TASK_STATE_COMPLETED' } } });
  expect((await caller.call('ListTasks', {})).status).toBe(200);
  expect((await view.streams()).size).toBe(2);
}, 120_000);

it('ends when it is told to, also while its database is silent', async () => {
  proxy.hold();
  expect((await server.stop()).code).toBe(0);
}, 120_000);
