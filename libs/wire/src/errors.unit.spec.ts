import { describe, expect, it } from '@jest/globals';
import { DomainError, invalidField, taskNotFound, type DomainErrorKind } from '@app/domain';
import { PROTOCOLS } from './protocols.js';
import { rest } from './rest/index.js';
import { asRequestError, jsonRpcHttpStatus, retryAfterSeconds } from './transport/error-details.js';
import {
  type RequestError,
  type RequestErrorKind,
  TransportError,
  type TransportErrorDetails,
  type TransportErrorKind,
} from './transport/transport-error.js';

const details: { [K in DomainErrorKind]: DomainError<K>['details'] } = {
  TaskNotFound: { taskId: 't' },
  TaskNotCancelable: { taskId: 't', status: 'completed' },
  TaskEnded: { taskId: 't', status: 'completed' },
  ArtifactNotFound: { taskId: 't', artifactId: 'a' },
  InvalidParameters: { violations: [{ field: 'message.parts[0]', description: 'is required' }] },
  ContentTypeNotSupported: { mediaType: 'image/png' },
  UnsupportedOperation: { operation: 'stream' },
  PushNotificationNotSupported: {},
  ExtensionSupportRequired: { extension: 'https://x.test/e' },
  VersionNotSupported: { version: '2.0' },
  InvalidAgentResponse: { taskId: 't' },
  Fenced: { taskId: 't', leaseGeneration: 2, dispatcherGeneration: 3 },
  CommandConflict: { commandId: 'c' },
  Unauthenticated: {},
  Forbidden: {},
  RateLimited: { retryAfterSeconds: 3 },
  Overloaded: { retryAfterSeconds: 5 },
  Internal: {},
};

const transportDetails: TransportErrorDetails = {
  ParseError: {},
  InvalidRequest: {},
  MethodNotFound: { method: 'x' },
  MethodNotAllowed: { allow: 'GET, POST' },
  UnsupportedMediaType: { mediaType: 'text/plain' },
  DuplicateHeader: { header: 'Content-Type' },
  PayloadTooLarge: { limit: 1_500_000 },
  HeadersTooLarge: { limit: 16_384 },
  RequestTimeout: {},
};

const [v1, v03] = [PROTOCOLS['1.0'].codec, PROTOCOLS['0.3'].codec];

/** By kind: JSON-RPC code of v1.0 and of v0.3, HTTP+JSON status of v1.0, status of the simple REST. */
const expected: Record<RequestErrorKind, [number, number, number, number]> = {
  TaskNotFound: [-32001, -32001, 404, 404],
  TaskNotCancelable: [-32002, -32002, 400, 409],
  TaskEnded: [-32004, -32602, 400, 409],
  ArtifactNotFound: [-32001, -32001, 404, 404],
  InvalidParameters: [-32602, -32602, 400, 400],
  ContentTypeNotSupported: [-32005, -32005, 400, 400],
  UnsupportedOperation: [-32004, -32004, 400, 400],
  PushNotificationNotSupported: [-32003, -32003, 400, 400],
  ExtensionSupportRequired: [-32008, -32008, 400, 400],
  VersionNotSupported: [-32009, -32009, 400, 400],
  InvalidAgentResponse: [-32006, -32006, 500, 502],
  Fenced: [-32603, -32603, 409, 409],
  CommandConflict: [-32602, -32602, 409, 409],
  ParseError: [-32700, -32700, 400, 400],
  InvalidRequest: [-32600, -32600, 400, 400],
  MethodNotFound: [-32601, -32601, 404, 404],
  MethodNotAllowed: [-32601, -32601, 405, 405],
  UnsupportedMediaType: [-32005, -32005, 415, 415],
  DuplicateHeader: [-32600, -32600, 400, 400],
  PayloadTooLarge: [-32600, -32600, 413, 413],
  HeadersTooLarge: [-32600, -32600, 431, 431],
  RequestTimeout: [-32600, -32600, 408, 408],
  Unauthenticated: [-31401, -31401, 401, 401],
  Forbidden: [-31403, -31403, 403, 403],
  RateLimited: [-32603, -32603, 429, 429],
  Overloaded: [-32603, -32603, 503, 503],
  Internal: [-32603, -32603, 500, 500],
};

const errors: RequestError[] = [
  ...(Object.keys(details) as DomainErrorKind[]).map(
    (kind) => new DomainError(kind, `message of ${kind}`, details[kind]),
  ),
  ...(Object.keys(transportDetails) as TransportErrorKind[]).map(
    (kind) => new TransportError(kind, `message of ${kind}`, transportDetails[kind]),
  ),
];

describe('The error tables', () => {
  // [A2A-ERROR-2], [A2A-ERROR-4]
  it.each(errors.map((error) => [error.kind, error] as const))(
    'map %s to the codes and statuses of every wire',
    (kind, error) => {
      const codes = [v1.rpcError(error).code, v03.rpcError(error).code, v1.httpError(error).status];
      expect([...codes, rest.httpError(error).status]).toEqual(expected[kind]);
    },
  );

  it.each(errors.map((error) => [error.kind, error] as const))(
    'encode %s with an ErrorInfo whose metadata has only strings',
    (_, error) => {
      const body = v1.httpError(error).body['error'] as {
        code: number;
        status: string;
        message: string;
        details: object[];
      };
      expect(body).toMatchObject({
        code: v1.httpError(error).status,
        message: error.message,
        status: expect.stringMatching(/^[A-Z_]+$/),
      });
      const [info] = body.details as { metadata: Record<string, unknown> }[];
      expect(info).toMatchObject({
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        domain: 'a2a-protocol.org',
        reason: expect.stringMatching(/^[A-Z_]+$/),
      });
      expect(Object.values(info?.metadata ?? {}).every((value) => typeof value === 'string')).toBe(true);
      expect(v1.rpcError(error).data).toEqual(body.details);
    },
  );

  // [A2A-ERROR-3]
  it('encode the fields of invalid parameters as a BadRequest', () => {
    expect(v1.rpcError(invalidField('message.parts', 'at least one part is required')).data).toContainEqual({
      '@type': 'type.googleapis.com/google.rpc.BadRequest',
      fieldViolations: [{ field: 'message.parts', description: 'at least one part is required' }],
    });
  });

  it.each(errors.map((error) => [error.kind, error] as const))(
    'encode %s for each SDK of v0.3: with an object as data, a class name, and google.rpc.Status',
    (_, error) => {
      const { status, body } = v03.httpError(error);
      const { code, data } = v03.rpcError(error);
      expect(data).toMatchObject({ reason: expect.any(String), domain: 'a2a-protocol.org', metadata: {} });
      expect(body).toEqual({
        code,
        message: error.message,
        data,
        type: expect.stringMatching(/^[A-Z][A-Za-z]+Error$/),
        error: {
          code: status,
          status: expect.stringMatching(/^[A-Z_]+$/),
          message: error.message,
          details: expect.arrayContaining([expect.objectContaining({ '@type': expect.any(String) })]),
        },
      });
      expect(body['error']).toMatchObject({ code: v1.httpError(error).status });
    },
  );

  it('encode the names of the error classes of the Python SDK of v0.3', () => {
    const typeOf = (kind: RequestErrorKind) => v03.httpError(errors.find((error) => error.kind === kind)!).body['type'];
    const kinds = [
      'TaskNotFound',
      'TaskEnded',
      'InvalidParameters',
      'ParseError',
      'MethodNotFound',
      'Internal',
    ] as const;
    expect(kinds.map(typeOf)).toEqual([
      'TaskNotFoundError',
      'InvalidParamsError',
      'InvalidParamsError',
      'JSONParseError',
      'MethodNotFoundError',
      'InternalError',
    ]);
    // The SDK has no class for these, and then keeps the HTTP status.
    expect([typeOf('Unauthenticated'), typeOf('RateLimited')]).toEqual(['UnauthenticatedError', 'RateLimitedError']);
  });

  it('encode the fields of invalid parameters in the data object of v0.3', () => {
    expect(v03.rpcError(invalidField('message.parts', 'at least one part is required')).data).toMatchObject({
      reason: 'INVALID_PARAMS',
      fieldViolations: [{ field: 'message.parts', description: 'at least one part is required' }],
    });
  });

  it('encode a missing task with the same body in the simple REST, whatever the reason', () => {
    expect(JSON.stringify(rest.httpError(taskNotFound('t')).body)).toBe('{"error":"task not found"}');
    const other = new DomainError('TaskNotFound', 'it belongs to someone else', { taskId: 't' });
    expect(rest.httpError(other)).toEqual({ status: 404, body: { error: 'task not found' } });
  });

  it('do not reveal the message of an unexpected error', () => {
    const thrown = asRequestError(new Error('password of the database'));
    const responses = [v1.rpcError(thrown), v1.httpError(thrown), v03.httpError(thrown), rest.httpError(thrown)];
    expect(JSON.stringify(responses)).not.toMatch(/password/);
    expect(thrown.kind).toBe('Internal');
  });

  it('map the errors of a JSON-RPC method to status 200, and those of the transport to their own status', () => {
    const statuses = errors
      .filter((error) => jsonRpcHttpStatus(error) !== 200)
      .map((error) => [error.kind, jsonRpcHttpStatus(error)]);
    expect(Object.fromEntries(statuses)).toEqual({
      Unauthenticated: 401,
      MethodNotAllowed: 405,
      Forbidden: 403,
      DuplicateHeader: 400,
      PayloadTooLarge: 413,
      HeadersTooLarge: 431,
      RequestTimeout: 408,
      UnsupportedMediaType: 415,
      RateLimited: 429,
      Overloaded: 503,
    });
  });

  it('contain the seconds of Retry-After for rate limits and overload', () => {
    expect(errors.flatMap((error) => retryAfterSeconds(error) ?? [])).toEqual([3, 5]);
  });
});
