import { describe, expect, it } from '@jest/globals';
import { DomainError } from '@app/domain';
import { type RequestError, TransportError } from './transport-error.js';
import fc from 'fast-check';
import type { A2aCodec } from '../codec.js';
import { v03, v1, type HttpQuery } from '../index.js';

const bytes = (body: unknown): Buffer => (body === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(body)));

interface Asked {
  readonly query?: HttpQuery;
  readonly body?: unknown;
}

/** What a request means: the operation, and what is asked of it. */
function ask({ http }: A2aCodec, verb: string, path: string, { query = {}, body }: Asked = {}) {
  const { method, decode } = http.route(verb, path);
  return [method.operation, decode(query, bytes(body))];
}

function refusal(attempt: () => unknown): RequestError {
  try {
    attempt();
  } catch (error) {
    if (error instanceof DomainError || error instanceof TransportError) return error;
    throw error;
  }
  throw new Error('not refused');
}

const fields = (error: RequestError) =>
  DomainError.is(error, 'InvalidParameters') ? error.details.violations.map(({ field }) => field) : error.kind;

const sentTo1 = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] } };
const sentTo03 = { message: { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'hi' }] } };
const sent = {
  message: { messageId: 'm', role: 'user', parts: [{ text: 'hi' }] },
  configuration: { returnImmediately: false },
};
const hook = { url: 'https://x.test/hook', token: 'secret' };

describe('the paths of 1.0', () => {
  // [A2A-HTTP-1]
  it.each<[string, string, Asked, string, object]>([
    ['POST', 'message:send', { body: sentTo1 }, 'sendMessage', sent],
    ['POST', 'message:stream', { body: sentTo1 }, 'streamMessage', sent],
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
  ])('%s %s %j is %s', (verb, path, asked, operation, request) => {
    expect(ask(v1.codec, verb, path, asked)).toEqual([operation, expect.objectContaining(request)]);
    expect(ask(v1.codec, verb, `acme/${path}`, asked)).toEqual([
      operation,
      expect.objectContaining({ ...request, tenant: 'acme' }),
    ]);
  });
});

describe('the paths of 0.3', () => {
  it.each<[string, string, Asked, string, object]>([
    ['POST', 'message:send', { body: sentTo03 }, 'sendMessage', sent],
    ['POST', 'message:stream', { body: { request: sentTo03.message } }, 'streamMessage', sent],
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
  ])('%s %s %j is %s', (verb, path, asked, operation, request) => {
    expect(ask(v03.codec, verb, path, asked)).toEqual([operation, request]);
    expect(ask(v03.codec, verb, `acme/${path}`, asked)).toEqual([operation, { ...request, tenant: 'acme' }]);
  });

  it('wait without a configuration, and with one only when it says so, as proto3 leaves false out', () => {
    const configured = (configuration?: object) =>
      (ask(v03.codec, 'POST', 'message:send', { body: { ...sentTo03, configuration } })[1] as { configuration: object })
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

  it('name what is wrong as their proto does', () => {
    const wrong = (body: unknown) => fields(refusal(() => ask(v03.codec, 'POST', 'message:send', { body })));
    const parts = (...content: unknown[]) => wrong({ message: { ...sentTo03.message, content } });
    expect(wrong({})).toEqual(['message']);
    expect(wrong({ message: { messageId: 'm', role: 'user', parts: [{ text: 'hi' }] } })).toEqual([
      'message.role',
      'message.content',
    ]);
    expect(parts({ kind: 'text' }, { text: 'a', data: { data: {} } }, 1)).toEqual([
      'message.content[0]',
      'message.content[1]',
      'message.content[2]',
    ]);
    expect(parts({ data: { a: 1 } }, { data: 1 })).toEqual(['message.content[0].data.data', 'message.content[1].data']);
    expect(parts({ file: { fileWithBytes: '!' } }, { file: { fileWithUri: 'a', fileWithBytes: 'aGk=' } })).toEqual([
      'message.content[0].file.fileWithBytes',
      'message.content[1].file',
    ]);
    const create = (body: unknown) =>
      fields(refusal(() => ask(v03.codec, 'POST', 'tasks/t/pushNotificationConfigs', { body })));
    expect(create({})).toEqual(['pushNotificationConfig']);
    expect(create({ config: { pushNotificationConfig: { url: 'ftp://x' } } })).toEqual([
      'config.pushNotificationConfig.url',
    ]);
  });
});

describe.each([v1.codec, v03.codec])('the binding of $version', (codec) => {
  it('takes any id, percent-encoded, and tells it from a verb', () => {
    const id = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
      .filter((text) => !/[\p{C}\p{Z}]/u.test(text));
    fc.assert(
      fc.property(fc.oneof(id, fc.constantFrom('a:cancel', 'a/b', '%', '%2F', '..', 'x:subscribe', ':')), (taskId) => {
        const encoded = encodeURIComponent(taskId);
        expect(ask(codec, 'GET', `tasks/${encoded}`)).toEqual(['getTask', { taskId }]);
        expect(ask(codec, 'POST', `tasks/${encoded}:cancel`)).toEqual(['cancelTask', { taskId }]);
        expect(ask(codec, 'GET', `tasks/${encoded}:subscribe`)).toEqual(['subscribeToTask', { taskId }]);
        expect(ask(codec, 'GET', `tasks/t/pushNotificationConfigs/${encoded}`)).toEqual([
          'getPushConfig',
          { taskId: 't', configId: taskId },
        ]);
      }),
    );
  });

  it('takes a colon that is not encoded, too, unless a verb follows', () => {
    expect(ask(codec, 'GET', 'tasks/urn:x:1')).toEqual(['getTask', { taskId: 'urn:x:1' }]);
    expect(ask(codec, 'POST', 'tasks/urn:x:cancel')).toEqual(['cancelTask', { taskId: 'urn:x' }]);
  });

  it.each([
    '',
    'task',
    'tasks/',
    'tasks/a/b',
    'tasks/t/pushNotificationConfigs/a/b',
    'a/b/tasks/t',
    'message:sent',
    'rpc',
  ])('has nothing at %j', (path) => {
    for (const verb of ['GET', 'POST', 'DELETE', 'PUT', 'constructor']) {
      expect(refusal(() => codec.http.route(verb, path)).kind).toBe('MethodNotFound');
    }
  });

  it.each([
    ['GET', 'message:send', 'POST'],
    ['DELETE', 'tasks/t', 'GET'],
    ['GET', 'tasks/t:cancel', 'POST'],
    ['PUT', 'acme/tasks/t:subscribe', 'GET, POST'],
    ['HEAD', 'tasks/t/pushNotificationConfigs/p', 'GET, DELETE'],
    ['constructor', 'tasks/t', 'GET'],
  ])('does not take %s for %s', (verb, path, allow) => {
    expect(refusal(() => codec.http.route(verb, path))).toMatchObject({ kind: 'MethodNotAllowed', details: { allow } });
  });

  it('refuses a body that says something else than the path', () => {
    const create = (path: string, body: object) => refusal(() => ask(codec, 'POST', path, { body }));
    expect(fields(create('tasks/t/pushNotificationConfigs', { task_id: 'other', ...hook }))).toEqual(['taskId']);
    expect(fields(create('acme/tasks/t:cancel', { tenant: 'other' }))).toEqual(['tenant']);
    expect(ask(codec, 'POST', 'acme/tasks/t:cancel', { body: { id: 't', tenant: 'acme' } })[0]).toBe('cancelTask');
  });

  it('refuses ids that are no UTF-8 and bodies that are no object', () => {
    expect(fields(refusal(() => codec.http.route('GET', 'tasks/%ff')))).toEqual(['id']);
    const decode = (body: string) =>
      refusal(() => codec.http.route('POST', 'message:send').decode({}, Buffer.from(body))).kind;
    expect([decode('[]'), decode('null'), decode('{'), decode('')]).toEqual([
      'InvalidRequest',
      'InvalidRequest',
      'ParseError',
      'InvalidParameters',
    ]);
  });
});

it('leaves out of each version what the other has', () => {
  for (const [codec, path] of [
    [v03.codec, 'tasks'],
    [v03.codec, 'extendedAgentCard'],
    [v1.codec, 'card'],
  ] as const) {
    expect(refusal(() => codec.http.route('GET', path)).kind).toBe('MethodNotFound');
  }
});
