import { describe, expect, it } from '@jest/globals';
import { decodeHttp, decodeParams, invalidFields } from '../../../../test/support/clients/decoding.js';
import { PROTOCOLS } from '../protocols.js';
import type { Method } from '../requests.js';
import { codec } from './index.js';

const message = { kind: 'message', messageId: 'm-1', role: 'user', parts: [{ kind: 'text', text: 'hi' }] };
const decode = (method: string, params: unknown) => decodeParams(codec, method, params);
const invalid = (method: string, params: unknown) => invalidFields(() => decode(method, params));
const send = (params: unknown) => decode('message/send', params);
const invalidSend = (params: unknown) => invalid('message/send', params);

describe('The decoders of A2A v0.3', () => {
  it('decodes a send to the same request as v1.0 does', () => {
    const decoded = send({
      message: { ...message, taskId: 't', contextId: 'c' },
      configuration: {
        blocking: false,
        historyLength: 1,
        acceptedOutputModes: ['text/plain'],
        pushNotificationConfig: {
          id: 'p',
          url: 'https://x.test',
          token: 'tok',
          authentication: { schemes: ['Bearer'], credentials: 's' },
        },
      },
      metadata: { b: 2 },
    });
    const current = decodeParams(PROTOCOLS['1.0'].codec, 'SendMessage', {
      message: { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hi' }], taskId: 't', contextId: 'c' },
      configuration: {
        returnImmediately: true,
        historyLength: 1,
        acceptedOutputModes: ['text/plain'],
        taskPushNotificationConfig: {
          id: 'p',
          url: 'https://x.test',
          token: 'tok',
          authentication: { scheme: 'Bearer', credentials: 's' },
        },
      },
      metadata: { b: 2 },
    });
    expect(decoded).toEqual(current);
  });

  it.each([
    [undefined, false],
    [{}, false],
    [{ blocking: true }, false],
    [{ blocking: false }, true],
  ])('decodes the configuration %j as returnImmediately %s', (configuration, returnImmediately) => {
    expect(send({ message: message, configuration })).toMatchObject({
      configuration: { returnImmediately },
    });
  });

  it.each([
    ['no message', {}, ['message']],
    ['an empty message', { message: { kind: 'message' } }, ['message.messageId', 'message.role', 'message.parts']],
    ['a different kind', { message: { ...message, kind: 'task' } }, ['message.kind']],
    ['a v1.0 role', { message: { ...message, role: 'ROLE_USER' } }, ['message.role']],
    ['proto field names', { message: { ...message, messageId: undefined, message_id: 'm' } }, ['message.messageId']],
    ['a v1.0 part', { message: { ...message, parts: [{ text: 'hi' }] } }, ['message.parts[0].kind']],
    ['a text part without text', { message: { ...message, parts: [{ kind: 'text' }] } }, ['message.parts[0].text']],
    [
      'data that is not an object',
      { message: { ...message, parts: [{ kind: 'data', data: [1] }] } },
      ['message.parts[0].data'],
    ],
    [
      'a file without content',
      { message: { ...message, parts: [{ kind: 'file', file: { name: 'x' } }] } },
      ['message.parts[0].file'],
    ],
    [
      'a file with two contents',
      { message: { ...message, parts: [{ kind: 'file', file: { bytes: '', uri: 'x:' } }] } },
      ['message.parts[0].file'],
    ],
    [
      'a file that is a string',
      { message: { ...message, parts: [{ kind: 'file', file: 'x' }] } },
      ['message.parts[0].file'],
    ],
    [
      'two schemes for one credential',
      {
        message: message,
        configuration: {
          pushNotificationConfig: { url: 'https://x.test', authentication: { schemes: ['Basic', 'Bearer'] } },
        },
      },
      ['configuration.pushNotificationConfig.authentication.schemes'],
    ],
    [
      'a credential without a scheme',
      {
        message: message,
        configuration: { pushNotificationConfig: { url: 'https://x.test', authentication: { credentials: 's' } } },
      },
      ['configuration.pushNotificationConfig.authentication.schemes'],
    ],
    [
      'schemes that are not a list',
      {
        message: message,
        configuration: { pushNotificationConfig: { url: 'https://x.test', authentication: { schemes: 'Bearer' } } },
      },
      ['configuration.pushNotificationConfig.authentication.schemes'],
    ],
    [
      'an empty scheme',
      {
        message: message,
        configuration: { pushNotificationConfig: { url: 'https://x.test', authentication: { schemes: [''] } } },
      },
      ['configuration.pushNotificationConfig.authentication.schemes[0].scheme'],
    ],
  ])('rejects a send with %s and names the field', (_, params, expected) => {
    expect(invalidSend(params)).toEqual(expected);
  });

  it.each([{}, { schemes: [] }, { schemes: null }, { schemes: [], credentials: '' }, null])(
    'decodes the authentication %j of a webhook as none',
    (authentication) => {
      const pushNotificationConfig = { url: 'https://x.test', authentication };
      const set = { taskId: 't', pushNotificationConfig };
      expect(decode('tasks/pushNotificationConfig/set', set)).toEqual({ taskId: 't', url: 'https://x.test' });
      expect(send({ message, configuration: { pushNotificationConfig } })).toMatchObject({
        configuration: { pushConfig: { url: 'https://x.test' } },
      });
      const body = { pushNotificationConfig };
      expect(decodeHttp(codec, 'POST', 'tasks/t/pushNotificationConfigs', { body })[1]).toEqual({
        taskId: 't',
        url: 'https://x.test',
      });
    },
  );

  it('accepts a message without its discriminator, which many v0.3 clients omit', () => {
    const { kind: _, ...untyped } = message;
    expect(invalidSend({ message: untyped })).toEqual([]);
  });

  it('decodes the requests for tasks, webhook configurations and the extended card', () => {
    expect(decode('tasks/get', { id: 't', historyLength: 2 })).toEqual({ taskId: 't', historyLength: 2 });
    expect(decode('tasks/cancel', { id: 't' })).toEqual({ taskId: 't' });
    expect(decode('tasks/resubscribe', { id: 't' })).toEqual({ taskId: 't' });
    expect(invalid('tasks/get', undefined)).toEqual(['id']);
    const set = { taskId: 't', pushNotificationConfig: { url: 'https://x.test', id: 'p' } };
    expect(decode('tasks/pushNotificationConfig/set', set)).toEqual({
      taskId: 't',
      id: 'p',
      url: 'https://x.test',
    });
    expect(invalid('tasks/pushNotificationConfig/set', { taskId: 't' })).toEqual(['pushNotificationConfig']);
    expect(decode('tasks/pushNotificationConfig/get', { id: 't' })).toEqual({ taskId: 't' });
    expect(decode('tasks/pushNotificationConfig/list', { id: 't' })).toEqual({ taskId: 't', pageSize: 100 });
    const deleted = { id: 't', pushNotificationConfigId: 'p' };
    expect(decode('tasks/pushNotificationConfig/delete', deleted)).toEqual({ taskId: 't', configId: 'p' });
    expect(decode('agent/getAuthenticatedExtendedCard', undefined)).toEqual({});
  });

  it('omits the credentials of a webhook from a response', () => {
    const method = codec.methods.get('tasks/pushNotificationConfig/get') as Method<'getPushConfig'>;
    const config = {
      taskId: 't',
      id: 'p',
      url: 'https://x.test',
      token: 'tok',
      authentication: { scheme: 'Bearer', credentials: 'secret' },
    };
    expect(method.encode(config, { taskId: 't' })).toEqual({
      taskId: 't',
      pushNotificationConfig: {
        id: 'p',
        url: 'https://x.test',
        token: 'tok',
        authentication: { schemes: ['Bearer'] },
      },
    });
  });
});
