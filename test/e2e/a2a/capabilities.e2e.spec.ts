import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '@app/domain';
import { call, http, sendParams, sendParamsV03 } from '../../support/clients/rpc.js';
import { useServer } from '../../support/processes/spec-server.js';
import { TOKEN } from '../../support/processes/start-server.js';

const server = useServer({ ACTA_CAPABILITIES: '' });

const WEBHOOK = { url: 'https://example.com/hook' };

const UNSUPPORTED_METHODS: [method: string, version: string, code: number, params: JsonObject][] = [
  ['SendStreamingMessage', '1.0', -32004, sendParams('hi')],
  ['SubscribeToTask', '1.0', -32004, { id: 'x' }],
  ['CreateTaskPushNotificationConfig', '1.0', -32003, { taskId: 'x', ...WEBHOOK }],
  ['GetTaskPushNotificationConfig', '1.0', -32003, { taskId: 'x', id: 'y' }],
  ['ListTaskPushNotificationConfigs', '1.0', -32003, { taskId: 'x' }],
  ['DeleteTaskPushNotificationConfig', '1.0', -32003, { taskId: 'x', id: 'y' }],
  ['GetExtendedAgentCard', '1.0', -32004, {}],
  ['message/stream', '0.3', -32004, sendParamsV03('hi')],
  ['tasks/resubscribe', '0.3', -32004, { id: 'x' }],
  ['tasks/pushNotificationConfig/set', '0.3', -32003, { taskId: 'x', pushNotificationConfig: WEBHOOK }],
  ['tasks/pushNotificationConfig/get', '0.3', -32003, { id: 'x' }],
  ['tasks/pushNotificationConfig/list', '0.3', -32003, { id: 'x' }],
  ['tasks/pushNotificationConfig/delete', '0.3', -32003, { id: 'x', pushNotificationConfigId: 'y' }],
  ['agent/getAuthenticatedExtendedCard', '0.3', -32004, {}],
];

const SENDS_WITH_WEBHOOK: [method: string, version: string, params: JsonObject][] = [
  ['SendMessage', '1.0', sendParams('hi', { configuration: { taskPushNotificationConfig: WEBHOOK } })],
  ['message/send', '0.3', sendParamsV03('hi', { configuration: { pushNotificationConfig: WEBHOOK } })],
];

describe('A server without optional capabilities', () => {
  async function expectRejected(method: string, version: string, params: JsonObject, code: number) {
    const { status, body, headers } = await call(server.url, TOKEN, version, method, params);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^application\/json\b/);
    expect(body.error?.code).toBe(code);
    expect((await server.database.rowCounts())['event']).toBe(0);
  }

  // [A2A-CAP-1], [A2A-CAP-2], [A2A-CAP-3]
  it.each(UNSUPPORTED_METHODS)('rejects %s of A2A %s with the error code %i', async (method, version, code, params) => {
    await expectRejected(method, version, params, code);
  });

  it.each(SENDS_WITH_WEBHOOK)(
    'rejects a webhook in %s of A2A %s with the error code -32003',
    async (method, version, params) => {
      await expectRejected(method, version, params, -32003);
    },
  );

  it('advertises none of them in its cards', async () => {
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
});
