import { DomainError } from '@app/domain';
import { HttpFailure } from '@app/network';

/**
 * Why a request to an agent has no usable result:
 * - `unreachable`: no connection, no response in time, or a temporary status (429, 5xx). The same request may succeed later.
 * - `rejected`: the agent rejected the request with a JSON-RPC error or an HTTP status.
 * - `invalid`: the response is not valid A2A, or exceeds a limit.
 * - `not-allowed`: the rules forbid the address.
 */
export type ClientFailureKind = 'unreachable' | 'rejected' | 'invalid' | 'not-allowed';

export class ClientFailure extends Error {
  constructor(
    readonly kind: ClientFailureKind,
    message: string,
    /** The JSON-RPC error code, or the HTTP status if there is none. */
    readonly code?: number,
  ) {
    super(message);
  }

  static is(error: unknown, kind: ClientFailureKind): error is ClientFailure {
    return error instanceof ClientFailure && error.kind === kind;
  }
}

/** Returns an HttpFailure as a ClientFailure, and any other error unchanged. */
export const toClientFailure = (error: unknown): unknown =>
  error instanceof HttpFailure ? new ClientFailure(error.kind, error.message) : error;

/** Calls a decoder of `@app/wire`. Throws ClientFailure if the response is not valid A2A. */
export function decodeResponse<T>(decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (!DomainError.is(error, 'InvalidParameters')) throw error;
    const problems = error.details.violations.map(({ field, description }) => `${field} ${description}`);
    throw new ClientFailure('invalid', `the response is not valid A2A: ${problems.join('; ')}`);
  }
}
