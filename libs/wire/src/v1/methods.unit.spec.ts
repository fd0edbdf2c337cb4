import { describe, expect, it } from '@jest/globals';
import { decodeParams, invalidFields } from '../../../../test/support/clients/decoding.js';
import type { Method } from '../requests.js';
import type { HttpQuery } from '../transport/http-query.js';
import { codec } from './index.js';

const decode = (method: string, params: unknown) => decodeParams(codec, method, params);
const invalid = (method: string, params: unknown) => invalidFields(() => decode(method, params));

describe('The decoders of A2A v1.0', () => {
  // F27
  it.each([0, 101, -1, 2.5, '10', '', true, [], {}])('rejects the page size %j of ListTasks', (pageSize) => {
    expect(invalid('ListTasks', { pageSize })).toEqual(['pageSize']);
  });

  // F27, [A2A-LIST-5]
  it('lists 50 tasks without artifacts by default', () => {
    expect(decode('ListTasks', undefined)).toEqual({ pageSize: 50, includeArtifacts: false });
    expect(decode('ListTasks', { pageSize: 1 })).toMatchObject({ pageSize: 1 });
    expect(decode('ListTasks', { pageSize: 100 })).toMatchObject({ pageSize: 100 });
  });

  it('decodes the filters of ListTasks by state and time', () => {
    const params = {
      status: 'TASK_STATE_INPUT_REQUIRED',
      contextId: 'c',
      statusTimestampAfter: '2026-01-01T00:00:00.5Z',
      historyLength: 2,
    };
    expect(decode('ListTasks', params)).toEqual({
      status: 'input-required',
      contextId: 'c',
      statusTimestampAfter: '2026-01-01T00:00:00.500Z',
      historyLength: 2,
      pageSize: 50,
      includeArtifacts: false,
    });
    expect(decode('ListTasks', { status: 'TASK_STATE_UNSPECIFIED' })).not.toHaveProperty('status');
    expect(invalid('ListTasks', { status: 'working', statusTimestampAfter: '2026-01-01' })).toEqual([
      'status',
      'statusTimestampAfter',
    ]);
  });

  it.each(['GetTask', 'CancelTask', 'SubscribeToTask'])('requires the id of a %s request', (method) => {
    expect(invalid(method, {})).toEqual(['id']);
    expect(invalid(method, { id: '' })).toEqual(['id']);
    expect(decode(method, { id: 't', tenant: 'acme' })).toEqual({ taskId: 't', tenant: 'acme' });
  });

  it('decodes the requests for webhook configurations and the extended card', () => {
    const config = {
      taskId: 't',
      id: 'p',
      url: 'https://x.test/hook',
      authentication: { scheme: 'Bearer', credentials: 's' },
    };
    expect(decode('CreateTaskPushNotificationConfig', config)).toEqual(config);
    expect(invalid('CreateTaskPushNotificationConfig', { url: 'https://x.test' })).toEqual(['taskId']);
    expect(invalid('CreateTaskPushNotificationConfig', { ...config, authentication: {} })).toEqual([
      'authentication.scheme',
    ]);
    expect(decode('GetTaskPushNotificationConfig', { taskId: 't', id: 'p' })).toEqual({
      taskId: 't',
      configId: 'p',
    });
    expect(decode('DeleteTaskPushNotificationConfig', { task_id: 't', id: 'p' })).toEqual({
      taskId: 't',
      configId: 'p',
    });
    expect(decode('ListTaskPushNotificationConfigs', { taskId: 't', pageSize: 0 })).toEqual({
      taskId: 't',
      pageSize: 50,
    });
    expect(decode('GetExtendedAgentCard', undefined)).toEqual({});
  });

  it('accepts the field names of the proto in ListTasks', () => {
    expect(
      decode('ListTasks', {
        page_size: 7,
        include_artifacts: true,
        status_timestamp_after: '2026-01-01T00:00:00Z',
      }),
    ).toEqual({
      pageSize: 7,
      includeArtifacts: true,
      statusTimestampAfter: '2026-01-01T00:00:00.000Z',
    });
  });

  it('decodes the query of the HTTP+JSON binding, whose numbers and booleans are strings', () => {
    const { decode: decodeQuery } = codec.http.route('GET', 'tasks');
    const list = (query: HttpQuery) => decodeQuery(query, new Uint8Array());
    const query = { pageSize: '7', includeArtifacts: 'true', historyLength: '2', status: 'TASK_STATE_WORKING' };
    expect(list({ ...query, none: undefined })).toEqual({
      pageSize: 7,
      includeArtifacts: true,
      historyLength: 2,
      status: 'working',
    });
    for (const pageSize of ['2.5', '1e1', '0x10', ' 7', '', '-1']) {
      expect(invalidFields(() => list({ pageSize }))).toEqual(['pageSize']);
    }
    expect(invalidFields(() => list({ pageSize: ['1', '2'], includeArtifacts: 'yes' }))).toEqual([
      'pageSize',
      'includeArtifacts',
    ]);
  });

  it('omits the credentials of a webhook from a response', () => {
    const config = { taskId: 't', id: 'p', url: 'https://x.test', token: 'tok' };
    const method = codec.methods.get('GetTaskPushNotificationConfig') as Method<'getPushConfig'>;
    const authentication = { scheme: 'Bearer', credentials: 'secret' };
    expect(method.encode({ ...config, authentication }, { taskId: 't' })).toEqual({
      ...config,
      authentication: { scheme: 'Bearer' },
    });
  });
});
