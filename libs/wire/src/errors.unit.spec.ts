import { describe, expect, it } from '@jest/globals';
import { DomainError, invalidField, taskNotFound, type DomainErrorDetails, type DomainErrorKind } from '@app/domain';
import { asRequestError, jsonRpcHttpStatus, rest, retryAfterSeconds, v03, v1 } from './index.js';
import {
  type RequestError,
  type RequestErrorKind,
  TransportError,
  type TransportErrorDetails,
  type TransportErrorKind,
} from './transport/transport-error.js';

const details: DomainErrorDetails = {
  TaskNotFound: { taskId: 't' },
  TaskNotCancelable: { taskId: 't', status: 'completed' },
  TaskEnded: { taskId: 't', status: 'completed' },
  InvalidParameters: { violations: [{ field: 'message.parts[0]', description: 'is wrong' }] },
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
  PayloadTooLarge: { limit: 1_500_000 },
};

/** Kind → JSON-RPC code of v1.0 and of v0.3, HTTP+JSON status of v1.0, status of the simple REST. */
const expected: Record<RequestErrorKind, [number, number, number, number]> = {
  TaskNotFound: [-32001, -32001, 404, 404],
  TaskNotCancelable: [-32002, -32002, 400, 409],
  TaskEnded: [-32004, -32602, 400, 409],
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
  PayloadTooLarge: [-32600, -32600, 413, 413],
  Unauthenticated: [-31401, -31401, 401, 401],
  Forbidden: [-31403, -31403, 403, 403],
  RateLimited: [-32603, -32603, 429, 429],
  Overloaded: [-32603, -32603, 503, 503],
  Internal: [-32603, -32603, 500, 500],
};

const errors: RequestError[] = [
  ...(Object.keys(details) as DomainErrorKind[]).map((kind) => new DomainError(kind, `said ${kind}`, details[kind])),
  ...(Object.keys(transportDetails) as TransportErrorKind[]).map(
    (kind) => new TransportError(kind, `said ${kind}`, transportDetails[kind]),
  ),
];

describe('error tables', () => {
  // [A2A-ERROR-2], [A2A-ERROR-4]
  it.each(errors.map((error) => [error.kind, error] as const))('say %s on every wire', (kind, error) => {
    const said = [v1.codec.rpcError(error).code, v03.codec.rpcError(error).code, v1.codec.httpError(error).status];
    expect([...said, rest.httpError(error).status]).toEqual(expected[kind]);
  });

  it.each(errors.map((error) => [error.kind, error] as const))(
    'give %s an ErrorInfo whose metadata is strings',
    (_, error) => {
      const body = v1.codec.httpError(error).body['error'] as {
        code: number;
        status: string;
        message: string;
        details: object[];
      };
      expect(body).toMatchObject({
        code: v1.codec.httpError(error).status,
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
      expect(v1.codec.rpcError(error).data).toEqual(body.details);
    },
  );

  // [A2A-ERROR-3]
  it('name the fields of invalid parameters', () => {
    expect(v1.codec.rpcError(invalidField('message.parts', 'at least one part is required')).data).toContainEqual({
      '@type': 'type.googleapis.com/google.rpc.BadRequest',
      fieldViolations: [{ field: 'message.parts', description: 'at least one part is required' }],
    });
  });

  it('say a missing task in exactly these words on the simple REST', () => {
    expect(JSON.stringify(rest.httpError(taskNotFound('t')).body)).toBe('{"error":"task not found"}');
    const other = new DomainError('TaskNotFound', 'it belongs to someone else', { taskId: 't' });
    expect(rest.httpError(other)).toEqual({ status: 404, body: { error: 'task not found' } });
  });

  it('say nothing of what went wrong inside', () => {
    const thrown = asRequestError(new Error('password of the database'));
    const said = [
      v1.codec.rpcError(thrown),
      v1.codec.httpError(thrown),
      v03.codec.httpError(thrown),
      rest.httpError(thrown),
    ];
    expect(JSON.stringify(said)).not.toMatch(/password/);
    expect(thrown.kind).toBe('Internal');
  });

  it('answer JSON-RPC with 200 unless the transport itself refuses', () => {
    const refused = errors
      .filter((error) => jsonRpcHttpStatus(error) !== 200)
      .map((error) => [error.kind, jsonRpcHttpStatus(error)]);
    expect(Object.fromEntries(refused)).toEqual({
      Unauthenticated: 401,
      MethodNotAllowed: 405,
      Forbidden: 403,
      PayloadTooLarge: 413,
      UnsupportedMediaType: 415,
      RateLimited: 429,
      Overloaded: 503,
    });
  });

  it('know when to come back', () => {
    expect(errors.flatMap((error) => retryAfterSeconds(error) ?? [])).toEqual([3, 5]);
  });
});
