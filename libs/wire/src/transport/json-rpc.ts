import { DomainError, type Json, type JsonObject } from '@app/domain';
import { type RequestError, TransportError } from './transport-error.js';
import { checkJson, isStorableText, parseJson } from '../validation/strict-json.js';

/** A request id, answered with the same value (JSON-RPC 2.0 section 4). */
export type RpcId = string | number | null;

export interface RpcCall {
  readonly id: RpcId;
  readonly method: string;
  readonly params: JsonObject | undefined;
}

/** A body that is no call: why, and the id to answer with, null when it could not be read. */
export interface RpcRejection {
  readonly id: RpcId;
  readonly error: RequestError;
}

/** The `error` member of a response. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: Json;
}

/** Longest id that is echoed; longer ones are refused. */
const ID_LENGTH = 256;

/**
 * Reads one JSON-RPC 2.0 call out of a request body. Never throws: ParseError (not UTF-8, not JSON), InvalidRequest (not an
 * envelope, a batch, no id) and InvalidParameters (params beyond the JSON bounds, paths relative to `params`) come as a refusal.
 * A call without an id would be a notification, and A2A has none, so it is refused rather than done in silence.
 */
export function readCall(bytes: Uint8Array): RpcCall | RpcRejection {
  let id: RpcId = null;
  try {
    const body = parseJson(bytes);
    if (Array.isArray(body)) throw invalid('batches are not supported; send one call in each request');
    if (body === null || typeof body !== 'object') throw invalid('the body must be a JSON object');
    id = idOf(body);
    const { method, params } = body;
    if (body['jsonrpc'] !== '2.0') throw invalid('"jsonrpc" must be "2.0"');
    if (typeof method !== 'string' || method === '') throw invalid('"method" must be a non-empty string');
    if (params !== undefined && (params === null || typeof params !== 'object' || Array.isArray(params))) {
      throw invalid('"params" must be an object');
    }
    checkJson(params ?? {});
    return { id, method, params };
  } catch (error) {
    if (error instanceof DomainError || error instanceof TransportError) return { id, error };
    throw error;
  }
}

function idOf(body: JsonObject): RpcId {
  const { id } = body;
  if (id === undefined) throw invalid('"id" is required');
  if (id === null) return null;
  if (typeof id === 'number' && Number.isSafeInteger(id)) return id;
  if (typeof id === 'string' && id.length <= ID_LENGTH && isStorableText(id)) return id;
  throw invalid(`"id" must be a string of at most ${ID_LENGTH} characters, an integer or null`);
}

const invalid = (why: string) => new TransportError('InvalidRequest', `invalid JSON-RPC request: ${why}`, {});

export const encodeResult = (id: RpcId, result: Json): JsonObject => ({ jsonrpc: '2.0', id, result });

export const encodeError = (id: RpcId, error: RpcError): JsonObject => ({ jsonrpc: '2.0', id, error: { ...error } });
