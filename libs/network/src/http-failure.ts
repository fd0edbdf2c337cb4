import { errorCodeSuffix, UnusableHost } from './target-addresses.js';

/**
 * Why an HTTP request has no usable response:
 * - `unreachable`: no connection, no response in time, or a response that ended too early. The same request may succeed later.
 * - `not-allowed`: the rules forbid the address, or the response is a redirect.
 * - `invalid`: the response is larger than the caller's limit.
 */
export type HttpFailureKind = 'unreachable' | 'not-allowed' | 'invalid';

/** The message contains no host name. Of addresses, it names only one that the rules forbid. */
export class HttpFailure extends Error {
  constructor(
    readonly kind: HttpFailureKind,
    message: string,
    /** The status of a redirect; null for every other failure. */
    readonly status: number | null = null,
  ) {
    super(message);
  }
}

/** Returns the reason of an aborted signal, and otherwise the error as an HttpFailure. */
export function httpFailureOf(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof HttpFailure) return error;
  if (error instanceof UnusableHost) {
    return new HttpFailure(error.isTemporary ? 'unreachable' : 'not-allowed', error.message);
  }
  const { code } = error as { code?: unknown };
  // The end of the connection cuts a chunked body off.
  if (code === 'HPE_INVALID_EOF_STATE') return new HttpFailure('unreachable', 'the connection failed (ECONNRESET)');
  if (typeof code === 'string' && code.startsWith('HPE_') && code !== 'HPE_HEADER_OVERFLOW') {
    return new HttpFailure('unreachable', 'the response is not valid HTTP');
  }
  return new HttpFailure('unreachable', `the connection failed${errorCodeSuffix(error)}`);
}
