import type { JsonObject } from '@app/domain';
import { errorDetails } from '../transport/error-details.js';
import type { RpcError } from '../transport/json-rpc.js';
import type { RequestError, RequestErrorKind } from '../transport/transport-error.js';

interface Row {
  /** JSON-RPC `error.code`, in both bindings. */
  readonly code: number;
  /** Status of the HTTP+JSON binding. */
  readonly http: number;
  readonly reason: string;
}

const row = (code: number, http: number, reason: string): Row => ({ code, http, reason });

/**
 * The error codes of A2A v0.3 (section 8). Errors that only v1.0 defines have the codes of v1.0, because v0.3 does not use these
 * codes.
 */
const ERRORS: Record<RequestErrorKind, Row> = {
  TaskNotFound: row(-32001, 404, 'TASK_NOT_FOUND'),
  TaskNotCancelable: row(-32002, 400, 'TASK_NOT_CANCELABLE'),
  // Section 7.1 requires an error for a message to an ended task, but no code. Its SDKs returned invalid params.
  TaskEnded: row(-32602, 400, 'INVALID_PARAMS'),
  InvalidParameters: row(-32602, 400, 'INVALID_PARAMS'),
  ContentTypeNotSupported: row(-32005, 400, 'CONTENT_TYPE_NOT_SUPPORTED'),
  UnsupportedOperation: row(-32004, 400, 'UNSUPPORTED_OPERATION'),
  PushNotificationNotSupported: row(-32003, 400, 'PUSH_NOTIFICATION_NOT_SUPPORTED'),
  ExtensionSupportRequired: row(-32008, 400, 'EXTENSION_SUPPORT_REQUIRED'),
  VersionNotSupported: row(-32009, 400, 'VERSION_NOT_SUPPORTED'),
  InvalidAgentResponse: row(-32006, 500, 'INVALID_AGENT_RESPONSE'),
  Fenced: row(-32603, 409, 'FENCED'),
  CommandConflict: row(-32602, 409, 'COMMAND_CONFLICT'),
  ParseError: row(-32700, 400, 'PARSE_ERROR'),
  InvalidRequest: row(-32600, 400, 'INVALID_REQUEST'),
  MethodNotFound: row(-32601, 404, 'METHOD_NOT_FOUND'),
  MethodNotAllowed: row(-32601, 405, 'METHOD_NOT_FOUND'),
  UnsupportedMediaType: row(-32005, 415, 'CONTENT_TYPE_NOT_SUPPORTED'),
  PayloadTooLarge: row(-32600, 413, 'PAYLOAD_TOO_LARGE'),
  Unauthenticated: row(-31401, 401, 'UNAUTHENTICATED'),
  Forbidden: row(-31403, 403, 'FORBIDDEN'),
  RateLimited: row(-32603, 429, 'RATE_LIMITED'),
  Overloaded: row(-32603, 503, 'OVERLOADED'),
  Internal: row(-32603, 500, 'INTERNAL'),
};

/** Encodes an error of the JSON-RPC binding. */
export function rpcError(error: RequestError): RpcError {
  const { code, reason } = ERRORS[error.kind];
  return { code, message: error.message, data: errorDetails(error, reason) };
}

/** Encodes an error response of the HTTP+JSON binding. v0.3 defines no shape for it, and its SDKs send the JSON-RPC error. */
export function httpError(error: RequestError): { status: number; body: JsonObject } {
  return { status: ERRORS[error.kind].http, body: { ...rpcError(error) } };
}
