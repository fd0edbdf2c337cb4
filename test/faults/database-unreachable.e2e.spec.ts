import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, http, sendParams, V1Caller } from '../support/clients/rpc.js';
import { TOKEN } from '../support/processes/start-server.js';
import { expectUnavailable, type ProxiedServer, startProxiedServer } from './proxied-server.js';

describe('A server whose database is unreachable', () => {
  let proxied: ProxiedServer;

  beforeAll(async () => {
    proxied = await startProxiedServer();
  }, 90_000);
  afterAll(() => proxied?.close());

  it('returns 503 with Retry-After on every surface, and serves requests again when the database is reachable', async () => {
    const { server, proxy, view } = proxied;
    const key = await view.createKey({ subject: 'ann' });
    const caller = new V1Caller(server.url, TOKEN);
    const params = sendParams('hello', { message: { messageId: 'sent-while-unreachable' } });
    const { id } = await caller.send('before');
    proxy.refuseConnections();
    const responses = [
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
    await expectUnavailable(server.url, responses);
    expect((await http('GET', `${server.url}/health/live`, null)).status).toBe(200);

    proxy.acceptConnections();
    const { body } = await eventually(
      () => caller.call('SendMessage', params),
      ({ status }) => status === 200,
    );
    expect(body.result).toMatchObject({ task: { status: { state: 'TASK_STATE_COMPLETED' } } });
    expect((await view.streams()).size).toBe(2);
  });
});
