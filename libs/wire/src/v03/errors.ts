import type { JsonObject } from '@app/domain';
import { errorDetails } from '../transport/error-details.js';
import type { RpcError } from '../transport/json-rpc.js';
import type { RequestError, RequestErrorKind } from '../transport/transport-error.js';

interface Row {
  /** JSON-RPC `error.code`, in both bindings. */
  readonly code: number;
  /** Status of the HTTP+JSON binding, and its name in `google.rpc.Code`. */
  readonly http: number;
  readonly status: string;
  /** `ErrorInfo.reason`. */
  readonly reason: string;
}

const row = (code: number, http: number, status: string, reason: string): Row => ({ code, http, status, reason });

/**
 * The error codes of A2A v0.3 (section 8). Errors that only v1.0 defines have the codes of v1.0, because v0.3 does not use these
 * codes.
 */
const ERRORS: Record<RequestErrorKind, Row> = {
  TaskNotFound: row(-32001, 404, 'NOT_FOUND', 'TASK_NOT_FOUND'),
  TaskNotCancelable: row(-32002, 400, 'FAILED_PRECONDITION', 'TASK_NOT_CANCELABLE'),
  // Section 7.1 requires an error for a message to an ended task, but no code. Its SDKs returned invalid params.
  TaskEnded: row(-32602, 400, 'FAILED_PRECONDITION', 'INVALID_PARAMS'),
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

/** Encodes an error of the JSON-RPC binding. `data` is an object, because the Go SDK cannot read an array. */
export function rpcError(error: RequestError): RpcError {
  const { code, reason } = ERRORS[error.kind];
  return { code, message: error.message, data: errorData(error, reason) };
}

/**
 * Encodes an error response of the HTTP+JSON binding. v0.3 defines no shape for it. The body combines those that the SDKs read: the
 * JSON-RPC error, the name of the error class, and `google.rpc.Status` in its JSON form.
 */
export function httpError(error: RequestError): { status: number; body: JsonObject } {
  const { http, status, reason } = ERRORS[error.kind];
  const details = errorDetails(error, reason);
  return {
    status: http,
    body: {
      ...rpcError(error),
      type: errorClassOf(reason),
      error: { code: http, status, message: error.message, details },
    },
  };
}

/** Returns the details of an error in one object. */
function errorData(error: RequestError, reason: string): JsonObject {
  const merged = Object.assign({}, ...errorDetails(error, reason)) as JsonObject;
  const { '@type': _, ...data } = merged;
  return data;
}

/** Returns the name of the error class in the SDKs: `TaskNotFoundError` for TASK_NOT_FOUND. The SDKs ignore unknown names. */
function errorClassOf(reason: string): string {
  if (reason === 'PARSE_ERROR') return 'JSONParseError';
  const words = reason.toLowerCase().split('_');
  return `${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}Error`;
}
