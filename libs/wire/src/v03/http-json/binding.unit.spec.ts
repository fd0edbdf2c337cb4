import { describe, expect, it } from '@jest/globals';
import { decodeHttp, type HttpParams, invalidFields } from '../../../../../test/support/clients/decoding.js';
import { codec } from '../index.js';

const send = { message: { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'hi' }] } };
const request = {
  message: { messageId: 'm', role: 'user', parts: [{ text: 'hi' }] },
  configuration: { returnImmediately: false },
};
const hook = { url: 'https://x.test/hook', token: 'secret' };

describe('The HTTP+JSON binding of A2A v0.3', () => {
  it.each<[string, string, HttpParams, string, object]>([
    ['POST', 'message:send', { body: send }, 'sendMessage', request],
    ['POST', 'message:stream', { body: { request: send.message } }, 'streamMessage', request],
    ['GET', 'tasks/t', { query: { historyLength: '3' } }, 'getTask', { taskId: 't', historyLength: 3 }],
    ['POST', 'tasks/t:cancel', {}, 'cancelTask', { taskId: 't' }],
    ['GET', 'tasks/t:subscribe', {}, 'subscribeToTask', { taskId: 't' }],
    ['POST', 'tasks/t:subscribe', { body: {} }, 'subscribeToTask', { taskId: 't' }],
    [
      'POST',
      'tasks/t/pushNotificationConfigs',
      { body: { name: 'tasks/t/pushNotificationConfigs/p', pushNotificationConfig: { id: 'p', ...hook } } },
      'createPushConfig',
      { taskId: 't', id: 'p', ...hook },
    ],
    [
      'POST',
      'tasks/t/pushNotificationConfigs',
      { body: { parent: 'tasks/t', config_id: 'p', config: { push_notification_config: hook } } },
      'createPushConfig',
      { taskId: 't', id: 'p', ...hook },
    ],
    ['GET', 'tasks/t/pushNotificationConfigs', {}, 'listPushConfigs', { taskId: 't', pageSize: 100 }],
    ['GET', 'tasks/t/pushNotificationConfigs/p', {}, 'getPushConfig', { taskId: 't', configId: 'p' }],
    ['DELETE', 'tasks/t/pushNotificationConfigs/p', {}, 'deletePushConfig', { taskId: 't', configId: 'p' }],
    ['GET', 'card', {}, 'getExtendedCard', {}],
  ])('decodes %s %s %j as %s', (httpMethod, path, params, operation, expected) => {
    expect(decodeHttp(codec, httpMethod, path, params)).toEqual([operation, expected]);
    expect(decodeHttp(codec, httpMethod, `acme/${path}`, params)).toEqual([operation, { ...expected, tenant: 'acme' }]);
  });

  it('waits without a configuration, and with one only if blocking is true, because proto3 omits false', () => {
    const configured = (configuration?: object) =>
      (decodeHttp(codec, 'POST', 'message:send', { body: { ...send, configuration } })[1] as { configuration: object })
        .configuration;
    expect(configured()).toEqual({ returnImmediately: false });
    expect(configured({})).toEqual({ returnImmediately: true });
    expect(configured({ blocking: false, historyLength: 0 })).toEqual({ returnImmediately: true });
    expect(configured({ blocking: true, history_length: 2, pushNotification: hook })).toEqual({
      returnImmediately: false,
      historyLength: 2,
      pushConfig: hook,
    });
  });

  it('names invalid fields as the proto does', () => {
    const invalidSend = (body: unknown) => invalidFields(() => decodeHttp(codec, 'POST', 'message:send', { body }));
    const invalidParts = (...content: unknown[]) => invalidSend({ message: { ...send.message, content } });
    expect(invalidSend({})).toEqual(['message']);
    expect(invalidSend({ message: { messageId: 'm', role: 'user', parts: [{ text: 'hi' }] } })).toEqual([
      'message.role',
      'message.content',
    ]);
    expect(invalidParts({ kind: 'text' }, { text: 'a', data: { data: {} } }, 1)).toEqual([
      'message.content[0]',
      'message.content[1]',
      'message.content[2]',
    ]);
    expect(invalidParts({ data: { a: 1 } }, { data: 1 })).toEqual([
      'message.content[0].data.data',
      'message.content[1].data',
    ]);
    expect(
      invalidParts({ file: { fileWithBytes: '!' } }, { file: { fileWithUri: 'a', fileWithBytes: 'aGk=' } }),
    ).toEqual(['message.content[0].file.fileWithBytes', 'message.content[1].file']);
    const invalidConfig = (body: unknown) =>
      invalidFields(() => decodeHttp(codec, 'POST', 'tasks/t/pushNotificationConfigs', { body }));
    expect(invalidConfig({})).toEqual(['pushNotificationConfig']);
    expect(invalidConfig({ config: { pushNotificationConfig: { url: 'ftp://x' } } })).toEqual([
      'config.pushNotificationConfig.url',
    ]);
  });
});
