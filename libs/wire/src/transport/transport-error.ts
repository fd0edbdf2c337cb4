import type { DomainError, DomainErrorKind } from '@app/domain';

/** The details of each error of the transport: requests that no operation of the domain receives. */
export interface TransportErrorDetails {
  ParseError: Record<string, never>;
  InvalidRequest: Record<string, never>;
  MethodNotFound: { method: string };
  /** The path exists, but not with this HTTP method. `allow` is the value of the Allow header. */
  MethodNotAllowed: { allow: string };
  UnsupportedMediaType: { mediaType: string };
  /** The request line and the headers exceed `limit` bytes. */
  HeadersTooLarge: { limit: number };
  /** The request did not arrive completely in time. */
  RequestTimeout: Record<string, never>;
  /** A header that can only have one value is sent more than once. */
  DuplicateHeader: { header: string };
  /** `limit` is in bytes. */
  PayloadTooLarge: { limit: number };
}

export type TransportErrorKind = keyof TransportErrorDetails;

/** An error of the transport. `message` is for people: it states what is wrong and what to do. */
export class TransportError<K extends TransportErrorKind = TransportErrorKind> extends Error {
  constructor(
    readonly kind: K,
    message: string,
    readonly details: TransportErrorDetails[K],
  ) {
    super(message);
    this.name = kind;
  }

  static is<K extends TransportErrorKind>(error: unknown, kind: K): error is TransportError<K> {
    return error instanceof TransportError && error.kind === kind;
  }
}

/** Returns the error for an HTTP method that a path does not support. `allowed` is not empty. */
export function methodNotAllowed(httpMethod: string, allowed: readonly string[]): TransportError<'MethodNotAllowed'> {
  const message = `method ${httpMethod.slice(0, 20)} is not allowed at this path; use ${allowed.join(' or ')}`;
  return new TransportError('MethodNotAllowed', message, { allow: allowed.join(', ') });
}

/** Every error that a client can receive. Each wire format has one table over its kinds, which must be exhaustive to compile. */
export type RequestError = DomainError | TransportError;
export type RequestErrorKind = DomainErrorKind | TransportErrorKind;
