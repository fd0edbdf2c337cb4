import { DomainError, type JsonObject } from '@app/domain';
import { type RequestError, type RequestErrorKind, TransportError } from './transport-error.js';

/** Returns the details of an error as `google.rpc` objects in ProtoJSON (A2A v1.0 sections 9.5 and 11.6). */
export function errorDetails(error: RequestError, reason: string): JsonObject[] {
  const info: JsonObject = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason,
    domain: 'a2a-protocol.org',
    metadata: metadataOf(error),
  };
  if (!DomainError.is(error, 'InvalidParameters')) return [info];
  const fieldViolations = error.details.violations.map(({ field, description }) => ({ field, description }));
  return [info, { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations }];
}

/** Returns `ErrorInfo.metadata`, which is a map of strings. */
function metadataOf(error: RequestError): JsonObject {
  return Object.fromEntries(
    Object.entries(error.details).flatMap(([name, value]) =>
      typeof value === 'string' || typeof value === 'number' ? [[name, String(value)]] : [],
    ),
  );
}

/** Returns the error for the client. An unexpected error becomes Internal, whose message reveals nothing. */
export const asRequestError = (thrown: unknown): RequestError =>
  thrown instanceof DomainError || thrown instanceof TransportError
    ? thrown
    : new DomainError('Internal', 'internal error', {});

/** Returns the seconds of the `Retry-After` header, or undefined if the error has none. */
export function retryAfterSeconds(error: RequestError): number | undefined {
  return DomainError.is(error, 'RateLimited') || DomainError.is(error, 'Overloaded')
    ? error.details.retryAfterSeconds
    : undefined;
}

/** HTTP statuses of the errors that occur before a request reaches a method, or because the server is overloaded. */
const TRANSPORT_STATUS: Partial<Record<RequestErrorKind, number>> = {
  Unauthenticated: 401,
  Forbidden: 403,
  MethodNotAllowed: 405,
  DuplicateHeader: 400,
  PayloadTooLarge: 413,
  HeadersTooLarge: 431,
  RequestTimeout: 408,
  UnsupportedMediaType: 415,
  RateLimited: 429,
  Overloaded: 503,
};

/** Returns the HTTP status of a JSON-RPC error response: 200 for an error of the method itself, which the body contains. */
export const jsonRpcHttpStatus = (error: RequestError): number => TRANSPORT_STATUS[error.kind] ?? 200;
