/**
 * Why an agent did not answer as asked:
 * - `unreachable`: no connection, no answer in time, or an answer that asks to come back; the same request may succeed later.
 * - `refused`: the agent said no, with a JSON-RPC code or an HTTP status.
 * - `invalid`: its answer is no A2A, or more than is read.
 * - `not-allowed`: the address may not be connected to.
 */
export type ClientFailureKind = 'unreachable' | 'refused' | 'invalid' | 'not-allowed';

export class ClientFailure extends Error {
  constructor(
    readonly kind: ClientFailureKind,
    message: string,
    /** JSON-RPC code, or HTTP status where there is none. */
    readonly code?: number,
  ) {
    super(message);
  }

  static is(error: unknown, kind: ClientFailureKind): error is ClientFailure {
    return error instanceof ClientFailure && error.kind === kind;
  }
}
