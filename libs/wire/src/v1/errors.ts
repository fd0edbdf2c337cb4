import type { JsonObject } from '@app/domain';
import { errorDetails } from '../transport/error-details.js';
import type { RpcError } from '../transport/json-rpc.js';
import type { RequestError, RequestErrorKind } from '../transport/transport-error.js';

interface Row {
  /** JSON-RPC `error.code`. */
  readonly code: number;
  /** HTTP status of the HTTP+JSON binding, and its name in `google.rpc.Code`. */
  readonly http: number;
  readonly status: string;
  /** `ErrorInfo.reason`. */
  readonly reason: string;
}

const row = (code: number, http: number, status: string, reason: string): Row => ({ code, http, status, reason });

/**
 * The error codes of A2A v1.0. The A2A errors are those of its section 5.4, the JSON-RPC errors those of section 9.5. The spec
 * defines no code for authentication, so its codes are outside the range that JSON-RPC reserves. Quotas and overload are internal
 * errors (section 3.3.2).
 */
const ERRORS: Record<RequestErrorKind, Row> = {
  TaskNotFound: row(-32001, 404, 'NOT_FOUND', 'TASK_NOT_FOUND'),
  TaskNotCancelable: row(-32002, 400, 'FAILED_PRECONDITION', 'TASK_NOT_CANCELABLE'),
  TaskEnded: row(-32004, 400, 'FAILED_PRECONDITION', 'UNSUPPORTED_OPERATION'),
  ArtifactNotFound: row(-32001, 404, 'NOT_FOUND', 'ARTIFACT_NOT_FOUND'),
  InvalidParameters: row(-32602, 400, 'INVALID_ARGUMENT', 'INVALID_PARAMS'),
  ContentTypeNotSupported: row(-32005, 400, 'INVALID_ARGUMENT', 'CONTENT_TYPE_NOT_SUPPORTED'),
  UnsupportedOperation: row(-32004, 400, 'FAILED_PRECONDITION', 'UNSUPPORTED_OPERATION'),
  PushNotificationNotSupported: row(-32003, 400, 'FAILED_PRECONDITION', 'PUSH_NOTIFICATION_NOT_SUPPORTED'),
  ExtensionSupportRequired: row(-32008, 400, 'FAILED_PRECONDITION', 'EXTENSION_SUPPORT_REQUIRED'),
  VersionNotSupported: row(-32009, 400, 'FAILED_PRECONDITION', 'VERSION_NOT_SUPPORTED'),
  InvalidAgentResponse: row(-32006, 500, 'INTERNAL', 'INVALID_AGENT_RESPONSE'),
  Fenced: row(-32603, 409, 'ABORTED', 'FENCED'),
  CommandConflict: row(-32602, 409, 'ALREADY_EXISTS', 'COMMAND_CONFLICT'),
  ParseError: row(-32700, 400, 'INVALID_ARGUMENT', 'PARSE_ERROR'),
  InvalidRequest: row(-32600, 400, 'INVALID_ARGUMENT', 'INVALID_REQUEST'),
  MethodNotFound: row(-32601, 404, 'UNIMPLEMENTED', 'METHOD_NOT_FOUND'),
  MethodNotAllowed: row(-32601, 405, 'UNIMPLEMENTED', 'METHOD_NOT_FOUND'),
  UnsupportedMediaType: row(-32005, 415, 'INVALID_ARGUMENT', 'CONTENT_TYPE_NOT_SUPPORTED'),
  DuplicateHeader: row(-32600, 400, 'INVALID_ARGUMENT', 'INVALID_REQUEST'),
  PayloadTooLarge: row(-32600, 413, 'INVALID_ARGUMENT', 'PAYLOAD_TOO_LARGE'),
  HeadersTooLarge: row(-32600, 431, 'INVALID_ARGUMENT', 'HEADERS_TOO_LARGE'),
  RequestTimeout: row(-32600, 408, 'DEADLINE_EXCEEDED', 'REQUEST_TIMEOUT'),
  Unauthenticated: row(-31401, 401, 'UNAUTHENTICATED', 'UNAUTHENTICATED'),
  Forbidden: row(-31403, 403, 'PERMISSION_DENIED', 'FORBIDDEN'),
  RateLimited: row(-32603, 429, 'RESOURCE_EXHAUSTED', 'RATE_LIMITED'),
  Overloaded: row(-32603, 503, 'UNAVAILABLE', 'OVERLOADED'),
  Internal: row(-32603, 500, 'INTERNAL', 'INTERNAL'),
};

/** Encodes an error of the JSON-RPC binding. */
export function rpcError(error: RequestError): RpcError {
  const { code, reason } = ERRORS[error.kind];
  return { code, message: error.message, data: errorDetails(error, reason) };
}

/** Encodes an error response of the HTTP+JSON binding: `google.rpc.Status` in its JSON form (A2A v1.0 section 11.6). */
export function httpError(error: RequestError): { status: number; body: JsonObject } {
  const { http, status, reason } = ERRORS[error.kind];
  const details = errorDetails(error, reason);
  return { status: http, body: { error: { code: http, status, message: error.message, details } } };
}
