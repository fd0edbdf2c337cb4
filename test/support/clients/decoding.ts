import { DomainError, type JsonObject } from '@app/domain';
import { type A2aCodec, type HttpQuery, type RequestError, TransportError } from '@app/wire';

/** Decodes the params of a JSON-RPC method. */
export function decodeParams(codec: A2aCodec, method: string, params: unknown): unknown {
  const found = codec.methods.get(method);
  if (found === undefined) throw new Error(`A2A ${codec.version} has no method "${method}"`);
  return found.decode(params as JsonObject | undefined);
}

/** Returns the fields of the violations that `decode` throws, or no fields if it does not throw. */
export function invalidFields(decode: () => unknown): string[] {
  try {
    decode();
  } catch (error) {
    if (DomainError.is(error, 'InvalidParameters')) return error.details.violations.map(({ field }) => field);
    throw error;
  }
  return [];
}

/** Returns the error that `attempt` throws for a client. */
export function requestErrorOf(attempt: () => unknown): RequestError {
  try {
    attempt();
  } catch (error) {
    if (error instanceof DomainError || error instanceof TransportError) return error;
    throw error;
  }
  throw new Error('no error was thrown');
}

export interface HttpParams {
  readonly query?: HttpQuery;
  readonly body?: unknown;
}

/** Decodes a request of the HTTP+JSON binding, and returns its operation and its params. */
export function decodeHttp(
  { http }: A2aCodec,
  httpMethod: string,
  path: string,
  { query = {}, body }: HttpParams = {},
) {
  const { method, decode } = http.route(httpMethod, path);
  const bytes = body === undefined ? new Uint8Array() : Buffer.from(JSON.stringify(body));
  return [method.operation, decode(query, bytes)] as const;
}
