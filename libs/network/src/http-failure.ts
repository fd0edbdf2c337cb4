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
  ) {
    super(message);
  }
}

/** Codes of undici for which Node has a code: messages do not depend on the HTTP client. */
const NODE_CODES: Readonly<Record<string, string>> = {
  UND_ERR_SOCKET: 'ECONNRESET',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'ECONNRESET',
  UND_ERR_HEADERS_OVERFLOW: 'HPE_HEADER_OVERFLOW',
  UND_ERR_INVALID_ARG: 'ERR_INVALID_CHAR',
};

/** Returns the reason of an aborted signal, and otherwise the error as an HttpFailure. */
export function httpFailureOf(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof HttpFailure) return error;
  if (error instanceof UnusableHost) {
    return new HttpFailure(error.isTemporary ? 'unreachable' : 'not-allowed', error.message);
  }
  const { name, code, message } = error as { name?: unknown; code?: unknown; message?: unknown };
  // Without a code, and also for a chunked body that the end of the connection cuts off.
  const isParserError = name === 'HTTPParserError';
  if (isParserError && !/EOF/.test(String(message))) {
    return new HttpFailure('unreachable', 'the response is not valid HTTP');
  }
  const nodeCode = isParserError ? 'ECONNRESET' : (NODE_CODES[String(code)] ?? code);
  return new HttpFailure('unreachable', `the connection failed${errorCodeSuffix({ code: nodeCode })}`);
}
