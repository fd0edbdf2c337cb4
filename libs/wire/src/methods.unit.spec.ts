import { describe, expect, it } from '@jest/globals';
import { BOUNDS, DomainError, type FieldViolation, type JsonObject } from '@app/domain';
import type { A2aCodec } from './codec.js';
import { paramsOfQuery, v03, v1 } from './index.js';
import { readCall } from './transport/json-rpc.js';

function decode(codec: A2aCodec, method: string, params: unknown): unknown {
  const found = codec.methods.get(method);
  if (found === undefined) throw new Error(`no method ${method}`);
  return found.decode(params as JsonObject | undefined);
}

function violations(codec: A2aCodec, method: string, params: unknown): FieldViolation[] {
  try {
    decode(codec, method, params);
  } catch (error) {
    if (error instanceof DomainError && DomainError.is(error, 'InvalidParameters')) return error.details.violations;
    throw error;
  }
  return [];
}

const fields = (codec: A2aCodec, method: string, params: unknown) =>
  violations(codec, method, params).map((v) => v.field);

const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hi' }] };
const legacy = { kind: 'message', messageId: 'm-1', role: 'user', parts: [{ kind: 'text', text: 'hi' }] };

describe('method registries', () => {
  // F29: nothing is guessed from a name; a method of the other version is not there.
  it('share no method name', () => {
    const names = [...v1.codec.methods.keys(), ...v03.codec.methods.keys()];
    expect(new Set(names).size).toBe(names.length);
    expect(v03.codec.methods.has('tasks/list')).toBe(false);
  });

  it.each(['constructor', '__proto__', 'toString', ''])('have no method %j', (name) => {
    expect(v1.codec.methods.get(name)).toBeUndefined();
    expect(v03.codec.methods.get(name)).toBeUndefined();
  });
});

describe('v1.0 params', () => {
  it('decode a send with everything in it', () => {
    const request = decode(v1.codec, 'SendMessage', {
      tenant: 'acme',
      message: {
        ...message,
        taskId: 't',
        contextId: 'c',
        extensions: ['https://x.test/e'],
        referenceTaskIds: ['r'],
        metadata: { a: 1 },
      },
      configuration: {
        acceptedOutputModes: ['text/plain'],
        historyLength: 0,
        returnImmediately: true,
        taskPushNotificationConfig: {
          id: 'p',
          url: 'https://x.test/hook',
          token: 'tok',
          authentication: { scheme: 'Bearer', credentials: 'secret' },
        },
      },
      metadata: { b: 2 },
    });
    expect(request).toEqual({
      tenant: 'acme',
      taskId: 't',
      contextId: 'c',
      message: {
        messageId: 'm-1',
        role: 'user',
        parts: [{ text: 'hi' }],
        metadata: { a: 1 },
        extensions: ['https://x.test/e'],
        referenceTaskIds: ['r'],
      },
      configuration: {
        acceptedOutputModes: ['text/plain'],
        historyLength: 0,
        returnImmediately: true,
        pushConfig: {
          id: 'p',
          url: 'https://x.test/hook',
          token: 'tok',
          authentication: { scheme: 'Bearer', credentials: 'secret' },
        },
      },
      metadata: { b: 2 },
    });
  });

  it('read proto field names as well as lowerCamel ones', () => {
    const snake = decode(v1.codec, 'SendMessage', {
      message: {
        message_id: 'm-1',
        task_id: 't',
        context_id: 'c',
        role: 'ROLE_USER',
        reference_task_ids: ['r'],
        parts: [{ text: 'hi', media_type: 'text/plain' }],
      },
      configuration: {
        return_immediately: true,
        history_length: 3,
        accepted_output_modes: ['a/b'],
        task_push_notification_config: { url: 'https://x.test' },
      },
    });
    const camel = decode(v1.codec, 'SendMessage', {
      message: {
        messageId: 'm-1',
        taskId: 't',
        contextId: 'c',
        role: 'ROLE_USER',
        referenceTaskIds: ['r'],
        parts: [{ text: 'hi', mediaType: 'text/plain' }],
      },
      configuration: {
        returnImmediately: true,
        historyLength: 3,
        acceptedOutputModes: ['a/b'],
        taskPushNotificationConfig: { url: 'https://x.test' },
      },
    });
    expect(snake).toEqual(camel);
    expect(
      decode(v1.codec, 'ListTasks', {
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

  // [A2A-JSON-3]
  it('ignore unknown fields, and take null and empty as absent', () => {
    const plain = decode(v1.codec, 'SendMessage', { message });
    const padded = {
      ...message,
      taskId: '',
      contextId: null,
      metadata: {},
      extensions: [],
      referenceTaskIds: null,
      surprise: 1,
    };
    expect(decode(v1.codec, 'SendMessage', { message: padded, configuration: null, tenant: '', other: {} })).toEqual(
      plain,
    );
    expect(plain).toEqual({
      message: { messageId: 'm-1', role: 'user', parts: [{ text: 'hi' }] },
      configuration: { returnImmediately: false },
    });
  });

  it('take bytes in either base64 alphabet as the standard one', () => {
    const bytes = Buffer.from([0xfb, 0xef, 0xff, 0x01]);
    for (const raw of [bytes.toString('base64'), bytes.toString('base64url'), '++//AQ', '--__AQ==']) {
      expect(decode(v1.codec, 'SendMessage', { message: { ...message, parts: [{ raw }] } })).toMatchObject({
        message: { parts: [{ raw: '++//AQ==' }] },
      });
    }
  });

  // [A2A-JSON-4]
  it.each([
    ['no message', {}, ['message']],
    ['no params', undefined, ['message']],
    ['a message that is no object', { message: 'hi' }, ['message']],
    ['nothing in the message', { message: {} }, ['message.messageId', 'message.role', 'message.parts']],
    ['an agent as sender', { message: { ...message, role: 'ROLE_AGENT' } }, ['message.role']],
    ['a v0.3 role', { message: { ...message, role: 'user' } }, ['message.role']],
    ['no parts', { message: { ...message, parts: [] } }, ['message.parts']],
    ['parts that are no list', { message: { ...message, parts: {} } }, ['message.parts']],
    ['a part that is no object', { message: { ...message, parts: [null] } }, ['message.parts[0]']],
    ['a part without content', { message: { ...message, parts: [{ text: 'a' }, {}] } }, ['message.parts[1]']],
    ['a part with two contents', { message: { ...message, parts: [{ text: 'a', data: null }] } }, ['message.parts[0]']],
    ['text that is no string', { message: { ...message, parts: [{ text: 1 }] } }, ['message.parts[0].text']],
    ['bytes that are no base64', { message: { ...message, parts: [{ raw: 'a*' }] } }, ['message.parts[0].raw']],
    ['bytes of an impossible length', { message: { ...message, parts: [{ raw: 'aaaaa' }] } }, ['message.parts[0].raw']],
    ['an empty url', { message: { ...message, parts: [{ url: '' }] } }, ['message.parts[0].url']],
    ['metadata that is no object', { message: { ...message, metadata: [] } }, ['message.metadata']],
    ['an unprintable id', { message: { ...message, messageId: 'a\nb' } }, ['message.messageId']],
    ['a very long id', { message: { ...message, messageId: 'x'.repeat(BOUNDS.idLength + 1) } }, ['message.messageId']],
    ['a number as id', { message: { ...message, messageId: 7 } }, ['message.messageId']],
    [
      'a reference that is no id',
      { message: { ...message, referenceTaskIds: ['a', 1] } },
      ['message.referenceTaskIds[1]'],
    ],
    ['a negative history', { message, configuration: { historyLength: -1 } }, ['configuration.historyLength']],
    ['a configuration that is no object', { message, configuration: [] }, ['configuration']],
    ['"true" for true', { message, configuration: { returnImmediately: 'true' } }, ['configuration.returnImmediately']],
    [
      'a mode that is no string',
      { message, configuration: { acceptedOutputModes: [1] } },
      ['configuration.acceptedOutputModes[0]'],
    ],
    [
      'a webhook that is no URL',
      { message, configuration: { taskPushNotificationConfig: { url: 'hook' } } },
      ['configuration.taskPushNotificationConfig.url'],
    ],
    [
      'a webhook without URL',
      { message, configuration: { taskPushNotificationConfig: {} } },
      ['configuration.taskPushNotificationConfig.url'],
    ],
    [
      'a header in a token',
      { message, configuration: { taskPushNotificationConfig: { url: 'https://x.test', token: 'a\r\nX: y' } } },
      ['configuration.taskPushNotificationConfig.token'],
    ],
  ])('refuse a send with %s and name the field', (_, params, expected) => {
    expect(fields(v1.codec, 'SendMessage', params)).toEqual(expected);
  });

  it('keep an empty text, null data and empty bytes', () => {
    const parts = [{ text: '' }, { data: null }, { raw: '' }];
    expect(decode(v1.codec, 'SendMessage', { message: { ...message, parts } })).toMatchObject({ message: { parts } });
  });

  it('never name more violations than anyone would read', () => {
    const parts = Array.from({ length: 1000 }, () => ({}));
    expect(violations(v1.codec, 'SendMessage', { message: { ...message, parts } }).length).toBeLessThanOrEqual(20);
  });

  // F27
  it.each([0, 101, -1, 2.5, '10', '', true, [], {}])('refuse the page size %j', (pageSize) => {
    expect(fields(v1.codec, 'ListTasks', { pageSize })).toEqual(['pageSize']);
  });

  // F27, [A2A-LIST-5]
  it('list 50 tasks without artifacts when nothing is said', () => {
    expect(decode(v1.codec, 'ListTasks', undefined)).toEqual({ pageSize: 50, includeArtifacts: false });
    expect(decode(v1.codec, 'ListTasks', { pageSize: 1 })).toMatchObject({ pageSize: 1 });
    expect(decode(v1.codec, 'ListTasks', { pageSize: 100 })).toMatchObject({ pageSize: 100 });
  });

  it('filter by state and time', () => {
    const params = {
      status: 'TASK_STATE_INPUT_REQUIRED',
      contextId: 'c',
      statusTimestampAfter: '2026-01-01T00:00:00.5Z',
      historyLength: 2,
    };
    expect(decode(v1.codec, 'ListTasks', params)).toEqual({
      status: 'input-required',
      contextId: 'c',
      statusTimestampAfter: '2026-01-01T00:00:00.500Z',
      historyLength: 2,
      pageSize: 50,
      includeArtifacts: false,
    });
    expect(decode(v1.codec, 'ListTasks', { status: 'TASK_STATE_UNSPECIFIED' })).not.toHaveProperty('status');
    expect(fields(v1.codec, 'ListTasks', { status: 'working', statusTimestampAfter: '2026-01-01' })).toEqual([
      'status',
      'statusTimestampAfter',
    ]);
  });

  it.each(['GetTask', 'CancelTask', 'SubscribeToTask'])('%s needs an id', (method) => {
    expect(fields(v1.codec, method, {})).toEqual(['id']);
    expect(fields(v1.codec, method, { id: '' })).toEqual(['id']);
    expect(decode(v1.codec, method, { id: 't', tenant: 'acme' })).toEqual({ taskId: 't', tenant: 'acme' });
  });

  it('decode the push configuration methods', () => {
    const config = {
      taskId: 't',
      id: 'p',
      url: 'https://x.test/hook',
      authentication: { scheme: 'Bearer', credentials: 's' },
    };
    expect(decode(v1.codec, 'CreateTaskPushNotificationConfig', config)).toEqual(config);
    expect(fields(v1.codec, 'CreateTaskPushNotificationConfig', { url: 'https://x.test' })).toEqual(['taskId']);
    expect(fields(v1.codec, 'CreateTaskPushNotificationConfig', { ...config, authentication: {} })).toEqual([
      'authentication.scheme',
    ]);
    expect(decode(v1.codec, 'GetTaskPushNotificationConfig', { taskId: 't', id: 'p' })).toEqual({
      taskId: 't',
      configId: 'p',
    });
    expect(decode(v1.codec, 'DeleteTaskPushNotificationConfig', { task_id: 't', id: 'p' })).toEqual({
      taskId: 't',
      configId: 'p',
    });
    expect(decode(v1.codec, 'ListTaskPushNotificationConfigs', { taskId: 't', pageSize: 0 })).toEqual({
      taskId: 't',
      pageSize: 50,
    });
    expect(decode(v1.codec, 'GetExtendedAgentCard', undefined)).toEqual({});
  });

  it('come out of a query string too', () => {
    const params = paramsOfQuery({
      pageSize: '7',
      includeArtifacts: 'true',
      historyLength: '2',
      status: 'TASK_STATE_WORKING',
      none: undefined,
    });
    expect(decode(v1.codec, 'ListTasks', params)).toEqual({
      pageSize: 7,
      includeArtifacts: true,
      historyLength: 2,
      status: 'working',
    });
    for (const pageSize of ['2.5', '1e1', '0x10', ' 7', '', '-1']) {
      expect(fields(v1.codec, 'ListTasks', paramsOfQuery({ pageSize }))).toEqual(['pageSize']);
    }
    expect(fields(v1.codec, 'ListTasks', paramsOfQuery({ pageSize: ['1', '2'], includeArtifacts: 'yes' }))).toEqual([
      'pageSize',
      'includeArtifacts',
    ]);
  });

  it('are decoded fast enough to cost nothing beside a commit', () => {
    const params = { message, configuration: { historyLength: 10, acceptedOutputModes: ['text/plain'] } };
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params }));
    const round = () => {
      const start = process.hrtime.bigint();
      for (let at = 0; at < 2000; at++) {
        const call = readCall(body);
        if ('params' in call) decode(v1.codec, 'SendMessage', call.params);
      }
      return Number(process.hrtime.bigint() - start) / 2000 / 1000;
    };
    // Microseconds, the best of several rounds: about 20 on an idle core; the bound leaves room for a busy one.
    expect(Math.min(...Array.from({ length: 8 }, round))).toBeLessThan(200);
  });
});

describe('v0.3 params', () => {
  it('decode a send into the same request as v1.0', () => {
    const old = decode(v03.codec, 'message/send', {
      message: { ...legacy, taskId: 't', contextId: 'c' },
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
    const current = decode(v1.codec, 'SendMessage', {
      message: { ...message, taskId: 't', contextId: 'c' },
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
    expect(old).toEqual(current);
  });

  it.each([
    [undefined, false],
    [{}, false],
    [{ blocking: true }, false],
    [{ blocking: false }, true],
  ])('with the configuration %j return immediately: %s', (configuration, returnImmediately) => {
    expect(decode(v03.codec, 'message/send', { message: legacy, configuration })).toMatchObject({
      configuration: { returnImmediately },
    });
  });

  it.each([
    ['no message', {}, ['message']],
    [
      'nothing in the message',
      { message: { kind: 'message' } },
      ['message.messageId', 'message.role', 'message.parts'],
    ],
    ['another kind', { message: { ...legacy, kind: 'task' } }, ['message.kind']],
    ['a v1.0 role', { message: { ...legacy, role: 'ROLE_USER' } }, ['message.role']],
    ['proto field names', { message: { ...legacy, messageId: undefined, message_id: 'm' } }, ['message.messageId']],
    ['a v1.0 part', { message: { ...legacy, parts: [{ text: 'hi' }] } }, ['message.parts[0].kind']],
    ['a text part without text', { message: { ...legacy, parts: [{ kind: 'text' }] } }, ['message.parts[0].text']],
    [
      'data that is no object',
      { message: { ...legacy, parts: [{ kind: 'data', data: [1] }] } },
      ['message.parts[0].data'],
    ],
    [
      'a file without content',
      { message: { ...legacy, parts: [{ kind: 'file', file: { name: 'x' } }] } },
      ['message.parts[0].file'],
    ],
    [
      'a file with two contents',
      { message: { ...legacy, parts: [{ kind: 'file', file: { bytes: '', uri: 'x:' } }] } },
      ['message.parts[0].file'],
    ],
    [
      'a file that is a string',
      { message: { ...legacy, parts: [{ kind: 'file', file: 'x' }] } },
      ['message.parts[0].file'],
    ],
    [
      'two schemes for one credential',
      {
        message: legacy,
        configuration: {
          pushNotificationConfig: { url: 'https://x.test', authentication: { schemes: ['Basic', 'Bearer'] } },
        },
      },
      ['configuration.pushNotificationConfig.authentication.schemes'],
    ],
    [
      'no scheme at all',
      { message: legacy, configuration: { pushNotificationConfig: { url: 'https://x.test', authentication: {} } } },
      ['configuration.pushNotificationConfig.authentication.schemes'],
    ],
  ])('refuse a send with %s and name the field', (_, params, expected) => {
    expect(fields(v03.codec, 'message/send', params)).toEqual(expected);
  });

  it('take a message without its discriminator, as the clients of the time sent it', () => {
    const { kind: _, ...bare } = legacy;
    expect(fields(v03.codec, 'message/send', { message: bare })).toEqual([]);
  });

  it('decode the task and push configuration methods', () => {
    expect(decode(v03.codec, 'tasks/get', { id: 't', historyLength: 2 })).toEqual({ taskId: 't', historyLength: 2 });
    expect(decode(v03.codec, 'tasks/cancel', { id: 't' })).toEqual({ taskId: 't' });
    expect(decode(v03.codec, 'tasks/resubscribe', { id: 't' })).toEqual({ taskId: 't' });
    expect(fields(v03.codec, 'tasks/get', undefined)).toEqual(['id']);
    const set = { taskId: 't', pushNotificationConfig: { url: 'https://x.test', id: 'p' } };
    expect(decode(v03.codec, 'tasks/pushNotificationConfig/set', set)).toEqual({
      taskId: 't',
      id: 'p',
      url: 'https://x.test',
    });
    expect(fields(v03.codec, 'tasks/pushNotificationConfig/set', { taskId: 't' })).toEqual(['pushNotificationConfig']);
    expect(decode(v03.codec, 'tasks/pushNotificationConfig/get', { id: 't' })).toEqual({ taskId: 't' });
    expect(decode(v03.codec, 'tasks/pushNotificationConfig/list', { id: 't' })).toEqual({ taskId: 't', pageSize: 100 });
    const gone = { id: 't', pushNotificationConfigId: 'p' };
    expect(decode(v03.codec, 'tasks/pushNotificationConfig/delete', gone)).toEqual({ taskId: 't', configId: 'p' });
    expect(decode(v03.codec, 'agent/getAuthenticatedExtendedCard', undefined)).toEqual({});
  });
});

describe('push configurations', () => {
  const config = {
    taskId: 't',
    id: 'p',
    url: 'https://x.test',
    token: 'tok',
    authentication: { scheme: 'Bearer', credentials: 'secret' },
  };

  it('never show credentials', () => {
    const shown = [
      v1.codec.methods.get('GetTaskPushNotificationConfig'),
      v03.codec.methods.get('tasks/pushNotificationConfig/get'),
    ].map((method) => (method?.operation === 'getPushConfig' ? method.encode(config, { taskId: 't' }) : undefined));
    expect(shown).toEqual([
      { taskId: 't', id: 'p', url: 'https://x.test', token: 'tok', authentication: { scheme: 'Bearer' } },
      {
        taskId: 't',
        pushNotificationConfig: {
          id: 'p',
          url: 'https://x.test',
          token: 'tok',
          authentication: { schemes: ['Bearer'] },
        },
      },
    ]);
  });
});
