import { DomainError, invalidField, type Json, type JsonObject } from '@app/domain';
import { fieldPath, type JsonViolation } from '../json/json-violation.js';
import { isStorableText } from '../json/json-walk.js';
import { findViolation, parseDocument } from '../json/strict-json.js';
import { withValue } from '../validation/object-reader.js';
import { type RequestError, TransportError } from './transport-error.js';

/** The id of a request, which its response repeats (JSON-RPC 2.0 section 4). */
export type RpcId = string | number | null;

export interface RpcCall {
  readonly id: RpcId;
  readonly method: string;
  readonly params: JsonObject | undefined;
}

/** A body that is not a valid call. `id` is null if it could not be read. */
interface RpcRejection {
  readonly id: RpcId;
  readonly error: RequestError;
}

/** The `error` member of a response. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: Json;
}

/** Maximum number of characters of an id. */
const MAX_ID_LENGTH = 256;

/**
 * Reads one JSON-RPC 2.0 call from a request body. It does not throw, but returns a rejection with one of these errors: ParseError
 * (not UTF-8 or JSON), InvalidRequest (not an envelope, a batch, no id), InvalidParameters (params that exceed the JSON bounds or
 * violate I-JSON; paths are relative to `params`). A call without an id is a notification, which A2A does not have.
 */
export function readCall(bytes: Uint8Array): RpcCall | RpcRejection {
  let id: RpcId = null;
  try {
    const document = parseDocument(bytes);
    const body = document.value;
    if (Array.isArray(body)) throw invalid('batches are not supported; send one call in each request');
    if (body === null || typeof body !== 'object') throw invalid(withValue('the body must be a JSON object', body));
    const violation = findViolation(document, { hasEnvelope: true });
    // Of an id that is sent twice, neither is the id of the response.
    if (violation?.path[0] !== 'id') id = idOf(body);
    if (violation !== undefined) throw violationError(violation);
    const { method, params } = body;
    if (body['jsonrpc'] !== '2.0') throw invalid(withValue('"jsonrpc" must be "2.0"', body['jsonrpc']));
    if (typeof method !== 'string' || method === '')
      throw invalid(withValue('"method" must be a non-empty string', method));
    if (params !== undefined && (params === null || typeof params !== 'object' || Array.isArray(params))) {
      throw invalid(withValue('"params" must be an object', params));
    }
    return { id, method, params };
  } catch (error) {
    if (error instanceof DomainError || error instanceof TransportError) return { id, error };
    throw error;
  }
}

function idOf(body: JsonObject): RpcId {
  const { id } = body;
  if (id === undefined) throw invalid('"id" is required; A2A has no notifications');
  if (id === null) return null;
  if (typeof id === 'number' && Number.isSafeInteger(id)) return id;
  if (typeof id === 'string' && id.length <= MAX_ID_LENGTH && isStorableText(id)) return id;
  throw invalid(withValue(`"id" must be a string of at most ${MAX_ID_LENGTH} characters, an integer or null`, id));
}

/** Returns the error for a violation of the envelope, or of its params, whose paths start inside them. */
function violationError({ path, description }: JsonViolation): DomainError | TransportError {
  const [member, ...inMember] = path;
  if (member === undefined) return invalidField(fieldPath([]), description);
  if (member === 'params' && inMember.length > 0) return invalidField(fieldPath(inMember), description);
  return invalid(`"${fieldPath(path)}" ${description}`);
}

const invalid = (reason: string) => new TransportError('InvalidRequest', `invalid JSON-RPC request: ${reason}`, {});

export const encodeResult = (id: RpcId, result: Json): JsonObject => ({ jsonrpc: '2.0', id, result });

export const encodeError = (id: RpcId, error: RpcError): JsonObject => ({ jsonrpc: '2.0', id, error: { ...error } });
