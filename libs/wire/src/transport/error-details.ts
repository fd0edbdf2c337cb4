import { DomainError, type DomainErrorKind, type JsonObject } from '@app/domain';

/** What a wire says of a refusal, whatever its codes: `google.rpc` detail objects in ProtoJSON (A2A v1.0 sections 9.5 and 11.6). */
export function errorDetails(error: DomainError, reason: string): JsonObject[] {
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

/** `ErrorInfo.metadata` is a map of strings. */
function metadataOf(error: DomainError): JsonObject {
  return Object.fromEntries(
    Object.entries(error.details).flatMap(([name, value]) =>
      typeof value === 'string' || typeof value === 'number' ? [[name, String(value)]] : [],
    ),
  );
}

/** What was thrown as a domain error: anything else is Internal, and says nothing of itself to a client. */
export const asDomainError = (thrown: unknown): DomainError =>
  thrown instanceof DomainError ? thrown : new DomainError('Internal', 'internal error', {});

/** Seconds for a `Retry-After` header, when the error has them. */
export function retryAfterSeconds(error: DomainError): number | undefined {
  return DomainError.is(error, 'RateLimited') || DomainError.is(error, 'Overloaded')
    ? error.details.retryAfterSeconds
    : undefined;
}

/**
 * HTTP statuses of what a request fails on before it reaches a method, or because the server cannot take it now. JSON-RPC
 * answers everything else with 200, the error inside.
 */
const TRANSPORT_STATUS: Partial<Record<DomainErrorKind, number>> = {
  Unauthenticated: 401,
  Forbidden: 403,
  MethodNotAllowed: 405,
  PayloadTooLarge: 413,
  UnsupportedMediaType: 415,
  RateLimited: 429,
  Overloaded: 503,
};

export const jsonRpcStatus = (error: DomainError): number => TRANSPORT_STATUS[error.kind] ?? 200;
