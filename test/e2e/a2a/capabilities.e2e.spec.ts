import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { JsonObject } from '@app/domain';
import { DatabaseView } from '../../support/database/database-view.js';
import { call, http, sendParams } from '../../support/clients/rpc.js';
import { type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';

let server: RunningServer;
let database: DatabaseView;

beforeAll(async () => {
  server = await startServer({ env: { ACTA_CAPABILITIES: '' } });
  database = new DatabaseView(server.databaseUrl!);
}, 90_000);
afterAll(async () => {
  await database?.close();
  await server?.stop();
});

const WEBHOOK = { url: 'https://example.com/hook' };
const SAID = { kind: 'message', messageId: randomUUID(), role: 'user', parts: [{ kind: 'text', text: 'hi' }] };

const REFUSED: [version: string, method: string, params: JsonObject, code: number][] = [
  ['1.0', 'SendStreamingMessage', sendParams('hi'), -32004],
  ['1.0', 'SubscribeToTask', { id: 'x' }, -32004],
  ['1.0', 'CreateTaskPushNotificationConfig', { taskId: 'x', ...WEBHOOK }, -32003],
  ['1.0', 'GetTaskPushNotificationConfig', { taskId: 'x', id: 'y' }, -32003],
  ['1.0', 'ListTaskPushNotificationConfigs', { taskId: 'x' }, -32003],
  ['1.0', 'DeleteTaskPushNotificationConfig', { taskId: 'x', id: 'y' }, -32003],
  ['1.0', 'SendMessage', sendParams('hi', { configuration: { taskPushNotificationConfig: WEBHOOK } }), -32003],
  ['1.0', 'GetExtendedAgentCard', {}, -32004],
  ['0.3', 'message/stream', { message: SAID }, -32004],
  ['0.3', 'tasks/resubscribe', { id: 'x' }, -32004],
  ['0.3', 'tasks/pushNotificationConfig/set', { taskId: 'x', pushNotificationConfig: WEBHOOK }, -32003],
  ['0.3', 'tasks/pushNotificationConfig/get', { id: 'x' }, -32003],
  ['0.3', 'tasks/pushNotificationConfig/list', { id: 'x' }, -32003],
  ['0.3', 'tasks/pushNotificationConfig/delete', { id: 'x', pushNotificationConfigId: 'y' }, -32003],
  ['0.3', 'message/send', { message: SAID, configuration: { pushNotificationConfig: WEBHOOK } }, -32003],
  ['0.3', 'agent/getAuthenticatedExtendedCard', {}, -32004],
];

// [A2A-CAP-1], [A2A-CAP-2], [A2A-CAP-3]
it.each(REFUSED)(
  'without the capability, %s %s answers with its standard error',
  async (version, method, params, code) => {
    const { status, body, headers } = await call(server.url, TOKEN, version, method, params);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^application\/json\b/);
    expect(body.error?.code).toBe(code);
    expect((await database.rowCounts())['event']).toBe(0);
  },
);

it('no card promises what is refused', async () => {
  const cards = await Promise.all(
    ['1.0', '0.3'].map(async (version) => {
      const headers = { 'A2A-Version': version };
      const { text } = await http('GET', `${server.url}/.well-known/agent-card.json`, null, { headers });
      return JSON.parse(text) as JsonObject;
    }),
  );
  expect(cards[0]).toMatchObject({
    capabilities: { streaming: false, pushNotifications: false, extendedAgentCard: false },
  });
  expect(cards[1]).toMatchObject({
    capabilities: { streaming: false, pushNotifications: false },
    supportsAuthenticatedExtendedCard: false,
  });
});
