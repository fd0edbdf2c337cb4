import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, http, sendParams, V1Caller } from '../support/clients/rpc.js';
import { TOKEN } from '../support/processes/start-server.js';
import { expectUnavailable, type ProxiedServer, startProxiedServer } from './proxied-server.js';

describe('A server whose database is unresponsive', () => {
  let proxied: ProxiedServer;

  beforeAll(async () => {
    proxied = await startProxiedServer();
  }, 90_000);
  afterAll(() => proxied?.close(), 90_000);

  it('returns 503 with Retry-After to all callers, and continues with the same event log when the database responds', async () => {
    const { server, proxy, view } = proxied;
    const caller = new V1Caller(server.url, TOKEN);
    const params = sendParams('hello', { message: { messageId: 'sent-while-unresponsive' } });
    const { id } = await caller.send('before');
    proxy.pause();
    const responses = await Promise.all([
      caller.call('SendMessage', params),
      caller.call('GetTask', { id }),
      caller.call('ListTasks', {}),
      http('GET', `${server.url}/api/tasks/${id}/events`, TOKEN),
      // More requests than the server has database connections.
      ...Array.from({ length: 30 }, () => http('GET', `${server.url}/a2a/tasks/${id}`, TOKEN)),
    ]);
    await expectUnavailable(server.url, responses);

    // The delayed statements now arrive, among them the append of the message that got 503.
    proxy.resume();
    const { body } = await eventually(
      () => caller.call('SendMessage', params),
      ({ status }) => status === 200,
    );
    expect(body.result).toMatchObject({ task: { status: { state: 'TASK_STATE_COMPLETED' } } });
    expect((await caller.call('ListTasks', {})).status).toBe(200);
    expect((await view.streams()).size).toBe(2);
  }, 120_000);

  it('exits with code 0 on SIGTERM', async () => {
    proxied.proxy.pause();
    expect((await proxied.server.stop()).code).toBe(0);
  }, 120_000);
});
