import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decodeHttp, invalidFields, requestErrorOf } from '../../../../test/support/clients/decoding.js';
import { PROTOCOLS } from '../protocols.js';

const CODECS = Object.values(PROTOCOLS).map(({ codec }) => codec);
const hook = { url: 'https://x.test/hook', token: 'secret' };

describe.each(CODECS)('The HTTP+JSON binding of A2A v$version', (codec) => {
  it('decodes any percent-encoded id, also one that ends like an operation', () => {
    const id = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
      .filter((text) => !/[\p{C}\p{Z}]/u.test(text));
    fc.assert(
      fc.property(fc.oneof(id, fc.constantFrom('a:cancel', 'a/b', '%', '%2F', '..', 'x:subscribe', ':')), (taskId) => {
        const encoded = encodeURIComponent(taskId);
        expect(decodeHttp(codec, 'GET', `tasks/${encoded}`)).toEqual(['getTask', { taskId }]);
        expect(decodeHttp(codec, 'POST', `tasks/${encoded}:cancel`)).toEqual(['cancelTask', { taskId }]);
        expect(decodeHttp(codec, 'GET', `tasks/${encoded}:subscribe`)).toEqual(['subscribeToTask', { taskId }]);
        expect(decodeHttp(codec, 'GET', `tasks/t/pushNotificationConfigs/${encoded}`)).toEqual([
          'getPushConfig',
          { taskId: 't', configId: taskId },
        ]);
      }),
    );
  });

  it('accepts an unencoded colon in an id, unless an operation follows', () => {
    expect(decodeHttp(codec, 'GET', 'tasks/urn:x:1')).toEqual(['getTask', { taskId: 'urn:x:1' }]);
    expect(decodeHttp(codec, 'POST', 'tasks/urn:x:cancel')).toEqual(['cancelTask', { taskId: 'urn:x' }]);
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
  ])('has no operation at %j', (path) => {
    for (const httpMethod of ['GET', 'POST', 'DELETE', 'PUT', 'constructor']) {
      expect(requestErrorOf(() => codec.http.route(httpMethod, path)).kind).toBe('MethodNotFound');
    }
  });

  it.each([
    ['GET', 'message:send', 'POST'],
    ['DELETE', 'tasks/t', 'GET'],
    ['GET', 'tasks/t:cancel', 'POST'],
    ['PUT', 'acme/tasks/t:subscribe', 'GET, POST'],
    ['HEAD', 'tasks/t/pushNotificationConfigs/p', 'GET, DELETE'],
    ['constructor', 'tasks/t', 'GET'],
  ])('does not allow %s at %s', (httpMethod, path, allow) => {
    expect(requestErrorOf(() => codec.http.route(httpMethod, path))).toMatchObject({
      kind: 'MethodNotAllowed',
      details: { allow },
    });
  });

  it('rejects a body with an id that differs from the path', () => {
    const invalid = (path: string, body: object) => invalidFields(() => decodeHttp(codec, 'POST', path, { body }));
    expect(invalid('tasks/t/pushNotificationConfigs', { task_id: 'other', ...hook })).toEqual(['taskId']);
    expect(invalid('acme/tasks/t:cancel', { tenant: 'other' })).toEqual(['tenant']);
    expect(decodeHttp(codec, 'POST', 'acme/tasks/t:cancel', { body: { id: 't', tenant: 'acme' } })[0]).toBe(
      'cancelTask',
    );
  });

  it.each(['tasks/t:cancel', 'tasks/t:subscribe', 'acme/tasks/t:cancel'])(
    'reads the body null of POST %s as an empty request, as the Go SDK sends it',
    (path) => {
      expect(decodeHttp(codec, 'POST', path, { body: null })).toEqual(decodeHttp(codec, 'POST', path, { body: {} }));
    },
  );

  it.each(['message:send', 'message:stream', 'tasks/t/pushNotificationConfigs'])(
    'rejects the body null of POST %s, whose params are in the body',
    (path) => {
      const decode = () => decodeHttp(codec, 'POST', path, { body: null });
      expect(requestErrorOf(decode)).toMatchObject({ kind: 'InvalidRequest' });
    },
  );

  it.each(['[]', 'false', '0', '""', 'null null'])('rejects the body %s of POST tasks/t:cancel', (body) => {
    const { decode } = codec.http.route('POST', 'tasks/t:cancel');
    expect(requestErrorOf(() => decode({}, Buffer.from(body))).kind).toMatch(/^(InvalidRequest|ParseError)$/);
  });

  it('rejects ids that are not UTF-8 and bodies that are not an object', () => {
    expect(invalidFields(() => codec.http.route('GET', 'tasks/%ff'))).toEqual(['id']);
    const decode = (body: string) =>
      requestErrorOf(() => codec.http.route('POST', 'message:send').decode({}, Buffer.from(body))).kind;
    expect([decode('[]'), decode('null'), decode('{'), decode('')]).toEqual([
      'InvalidRequest',
      'InvalidRequest',
      'ParseError',
      'InvalidParameters',
    ]);
  });
});
