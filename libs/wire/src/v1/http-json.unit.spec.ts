import { describe, expect, it } from '@jest/globals';
import { decodeHttp, type HttpParams } from '../../../../test/support/clients/decoding.js';
import { codec } from './index.js';

const send = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] } };
const request = {
  message: { messageId: 'm', role: 'user', parts: [{ text: 'hi' }] },
  configuration: { returnImmediately: false },
};
const hook = { url: 'https://x.test/hook', token: 'secret' };

describe('The HTTP+JSON binding of A2A v1.0', () => {
  // [A2A-HTTP-1]
  it.each<[string, string, HttpParams, string, object]>([
    ['POST', 'message:send', { body: send }, 'sendMessage', request],
    ['POST', 'message:stream', { body: send }, 'streamMessage', request],
    ['GET', 'tasks', {}, 'listTasks', { pageSize: 50, includeArtifacts: false }],
    ['GET', 'tasks', { query: { status: 'working' } }, 'listTasks', { status: 'working' }],
    ['GET', 'tasks', { query: { status: 'input-required' } }, 'listTasks', { status: 'input-required' }],
    ['GET', 'tasks', { query: { status: 'TASK_STATE_FAILED' } }, 'listTasks', { status: 'failed' }],
    [
      'GET',
      'tasks',
      { query: { pageSize: '7', contextId: 'c', includeArtifacts: 'true', page_token: 'p' } },
      'listTasks',
      { pageSize: 7, contextId: 'c', includeArtifacts: true, pageToken: 'p' },
    ],
    ['GET', 'tasks/t', { query: { historyLength: '0' } }, 'getTask', { taskId: 't', historyLength: 0 }],
    ['POST', 'tasks/t:cancel', {}, 'cancelTask', { taskId: 't' }],
    ['POST', 'tasks/t:cancel', { body: { metadata: { a: 1 } } }, 'cancelTask', { taskId: 't', metadata: { a: 1 } }],
    ['GET', 'tasks/t:subscribe', {}, 'subscribeToTask', { taskId: 't' }],
    ['POST', 'tasks/t:subscribe', {}, 'subscribeToTask', { taskId: 't' }],
    ['POST', 'tasks/t/pushNotificationConfigs', { body: hook }, 'createPushConfig', { taskId: 't', ...hook }],
    [
      'GET',
      'tasks/t/pushNotificationConfigs',
      { query: { pageSize: '2', pageToken: 'p' } },
      'listPushConfigs',
      { taskId: 't', pageSize: 2, pageToken: 'p' },
    ],
    ['GET', 'tasks/t/pushNotificationConfigs/p', {}, 'getPushConfig', { taskId: 't', configId: 'p' }],
    ['DELETE', 'tasks/t/pushNotificationConfigs/p', {}, 'deletePushConfig', { taskId: 't', configId: 'p' }],
    ['GET', 'extendedAgentCard', {}, 'getExtendedCard', {}],
  ])('decodes %s %s %j as %s', (httpMethod, path, params, operation, expected) => {
    expect(decodeHttp(codec, httpMethod, path, params)).toEqual([operation, expect.objectContaining(expected)]);
    expect(decodeHttp(codec, httpMethod, `acme/${path}`, params)).toEqual([
      operation,
      expect.objectContaining({ ...expected, tenant: 'acme' }),
    ]);
  });
});
