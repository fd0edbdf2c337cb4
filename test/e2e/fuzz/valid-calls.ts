import type { JsonObject } from '@app/domain';

const WEBHOOK = { url: 'https://example.com/hook', token: 't', authentication: { scheme: 'Bearer', credentials: 'c' } };
const WEBHOOK_V03 = {
  id: 'c',
  url: 'https://example.com/hook',
  authentication: { schemes: ['Bearer'], credentials: 'c' },
};

/** Returns valid calls, which the fuzzer changes. `ids` are tasks of the caller. */
export function validCalls(ids: readonly string[]): [version: string, method: string, params: JsonObject][] {
  const id = ids[0]!;
  const message: JsonObject = {
    messageId: 'm',
    role: 'ROLE_USER',
    contextId: 'c',
    metadata: { ring: 'ring:a' },
    extensions: ['https://example.com/e'],
    referenceTaskIds: [id],
    parts: [
      { text: 'hi', mediaType: 'text/plain' },
      { data: { a: [1] } },
      { raw: 'aGk=', filename: 'f' },
      { url: 'https://example.com/x' },
    ],
  };
  const messageV03: JsonObject = {
    kind: 'message',
    messageId: 'm',
    role: 'user',
    contextId: 'c',
    parts: [
      { kind: 'text', text: 'hi', metadata: {} },
      { kind: 'data', data: { a: 1 } },
      { kind: 'file', file: { bytes: 'aGk=', name: 'f', mimeType: 'text/plain' } },
      { kind: 'file', file: { uri: 'https://example.com/x' } },
    ],
  };
  const configuration = { returnImmediately: true, historyLength: 3, acceptedOutputModes: ['text/plain'] };
  return [
    ['1.0', 'SendMessage', { message, configuration, metadata: { a: 1 } }],
    ['1.0', 'SendMessage', { message: { messageId: 'm', role: 'ROLE_USER', taskId: id, parts: [{ text: 'more' }] } }],
    ['1.0', 'SendMessage', { message, configuration: { ...configuration, taskPushNotificationConfig: WEBHOOK } }],
    ['1.0', 'SendStreamingMessage', { message, configuration }],
    ['1.0', 'GetTask', { id, historyLength: 2 }],
    [
      '1.0',
      'ListTasks',
      {
        contextId: 'c',
        status: 'TASK_STATE_COMPLETED',
        pageSize: 5,
        pageToken: '',
        historyLength: 1,
        statusTimestampAfter: '2025-01-01T00:00:00Z',
        includeArtifacts: true,
      },
    ],
    ['1.0', 'CancelTask', { id, metadata: {} }],
    ['1.0', 'SubscribeToTask', { id }],
    ['1.0', 'CreateTaskPushNotificationConfig', { taskId: id, ...WEBHOOK }],
    ['1.0', 'GetTaskPushNotificationConfig', { taskId: id, id: 'c' }],
    ['1.0', 'ListTaskPushNotificationConfigs', { taskId: id, pageSize: 2, pageToken: '' }],
    ['1.0', 'DeleteTaskPushNotificationConfig', { taskId: id, id: 'c' }],
    ['1.0', 'GetExtendedAgentCard', {}],
    [
      '0.3',
      'message/send',
      { message: messageV03, configuration: { blocking: false, historyLength: 3, acceptedOutputModes: ['text'] } },
    ],
    [
      '0.3',
      'message/send',
      { message: { ...messageV03, taskId: id }, configuration: { pushNotificationConfig: WEBHOOK_V03 } },
    ],
    ['0.3', 'message/stream', { message: messageV03 }],
    ['0.3', 'tasks/get', { id, historyLength: 2 }],
    ['0.3', 'tasks/cancel', { id }],
    ['0.3', 'tasks/resubscribe', { id }],
    ['0.3', 'tasks/pushNotificationConfig/set', { taskId: id, pushNotificationConfig: WEBHOOK_V03 }],
    ['0.3', 'tasks/pushNotificationConfig/get', { id, pushNotificationConfigId: 'c' }],
    ['0.3', 'tasks/pushNotificationConfig/list', { id }],
    ['0.3', 'tasks/pushNotificationConfig/delete', { id, pushNotificationConfigId: 'c' }],
    ['0.3', 'agent/getAuthenticatedExtendedCard', {}],
  ];
}
