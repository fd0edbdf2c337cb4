import { describe, expect, it } from '@jest/globals';
import { DomainError } from '@app/domain';
import { decodeHttp, decodeParams, requestErrorOf } from '../../../../test/support/clients/decoding.js';
import { PROTOCOLS } from '../protocols.js';

const [v1, v03] = [PROTOCOLS['1.0'].codec, PROTOCOLS['0.3'].codec];
const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] };
const hook = { url: 'https://x.test/hook' };
const send = (params: object) => () => decodeParams(v1, 'SendMessage', params);
const list = (params: object) => () => decodeParams(v1, 'ListTasks', params);
const sendLegacy = (body: object) => () => decodeHttp(v03, 'POST', 'message:send', { body });

function violationOf(decode: () => unknown) {
  const error = requestErrorOf(decode);
  if (!DomainError.is(error, 'InvalidParameters')) throw error;
  return error.details.violations;
}

// ProtoJSON: a parser accepts the name of the proto and its lowerCamel form, which are one field.
describe('A request with both spellings of one proto field', () => {
  it.each<[string, string, () => unknown]>([
    ['pageSize', 'page_size', list({ pageSize: 1, page_size: 2 })],
    ['pageSize', 'page_size', list({ page_size: 2, pageSize: 2 })],
    ['pageSize', 'page_size', list({ pageSize: null, page_size: 2 })],
    ['contextId', 'context_id', list({ contextId: 'a', context_id: 'b' })],
    ['statusTimestampAfter', 'status_timestamp_after', list({ statusTimestampAfter: '', status_timestamp_after: 'x' })],
    ['message.messageId', 'message_id', send({ message: { ...message, message_id: 'n' } })],
    ['message.taskId', 'task_id', send({ message: { ...message, taskId: 'a', task_id: 'b' } })],
    [
      'message.referenceTaskIds',
      'reference_task_ids',
      send({ message: { ...message, referenceTaskIds: [], reference_task_ids: ['t'] } }),
    ],
    [
      'message.parts[1].mediaType',
      'media_type',
      send({ message: { ...message, parts: [{ text: 'a' }, { text: 'b', mediaType: 'a/b', media_type: 'c/d' }] } }),
    ],
    [
      'configuration.historyLength',
      'history_length',
      send({ message, configuration: { historyLength: 1, history_length: 2 } }),
    ],
    [
      'configuration.taskPushNotificationConfig',
      'task_push_notification_config',
      send({ message, configuration: { taskPushNotificationConfig: hook, task_push_notification_config: hook } }),
    ],
    [
      'configuration.taskPushNotificationConfig.taskId',
      'task_id',
      send({ message, configuration: { taskPushNotificationConfig: { ...hook, taskId: 'a', task_id: 'a' } } }),
    ],
    ['pageSize', 'page_size', () => decodeHttp(v1, 'GET', 'tasks', { query: { pageSize: '1', page_size: '2' } })],
    [
      'historyLength',
      'history_length',
      () => decodeHttp(v1, 'GET', 'tasks/t', { query: { historyLength: '1', history_length: '1' } }),
    ],
    [
      'taskId',
      'task_id',
      () => decodeHttp(v1, 'POST', 'tasks/t/pushNotificationConfigs', { body: { ...hook, taskId: 't', task_id: 't' } }),
    ],
    [
      'message.messageId',
      'message_id',
      sendLegacy({ message: { messageId: 'a', message_id: 'b', role: 'ROLE_USER', content: [{ text: 'hi' }] } }),
    ],
    [
      'message.content[0].file.fileWithUri',
      'file_with_uri',
      sendLegacy({
        message: {
          messageId: 'a',
          role: 'ROLE_USER',
          content: [{ file: { fileWithUri: 'https://x.test/a', file_with_uri: 'https://x.test/b' } }],
        },
      }),
    ],
    [
      'message.content[0].file.mimeType',
      'mime_type',
      sendLegacy({
        message: {
          messageId: 'a',
          role: 'ROLE_USER',
          content: [{ file: { fileWithUri: 'https://x.test/a', mimeType: 'a/b', mime_type: 'a/b' } }],
        },
      }),
    ],
    [
      'configuration.pushNotification',
      'push_notification',
      sendLegacy({
        message: { messageId: 'a', role: 'ROLE_USER', content: [{ text: 'hi' }] },
        configuration: { pushNotification: hook, push_notification: hook },
      }),
    ],
  ])('is rejected with the path %s if it also has %s', (field, other, decode) => {
    expect(violationOf(decode)).toEqual([{ field, description: `is sent twice, also as ${other}; send it once` }]);
  });

  it('is rejected if it has the name of the JSON mapping and the name of the proto of a v0.3 message', () => {
    const content = { messageId: 'a', role: 'ROLE_USER', content: [{ text: 'hi' }] };
    expect(violationOf(sendLegacy({ message: content, request: content }))).toEqual([
      { field: 'message', description: 'is sent twice, also as request; send it once' },
    ]);
  });

  it('is accepted in the JSON-RPC binding of v0.3, whose schema has only one spelling and ignores the other', () => {
    const legacy = { ...message, role: 'user', parts: [{ kind: 'text', text: 'hi' }], message_id: 'ignored' };
    expect(decodeParams(v03, 'message/send', { message: legacy })).toMatchObject({ message: { messageId: 'm' } });
  });

  it('is accepted if the spellings are in metadata or data, which are not proto messages', () => {
    const metadata = { pageSize: 1, page_size: 2 };
    const parts = [{ data: metadata, metadata }];
    expect(send({ message: { ...message, parts, metadata }, metadata })).not.toThrow();
  });

  it('is accepted with a param in the body in the other spelling than in the path', () => {
    const body = { ...hook, task_id: 't' };
    expect(decodeHttp(v1, 'POST', 'tasks/t/pushNotificationConfigs', { body })[1]).toEqual({ taskId: 't', ...hook });
  });
});
