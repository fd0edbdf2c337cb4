import type { Json, JsonObject } from '@app/domain';
import type { CardBinding, CardDescription } from './card-description.js';
import type { MethodRegistry } from './requests.js';
import type { StreamUpdate } from './task/stream-update.js';
import type { HttpBinding } from './transport/http-binding.js';
import type { RpcError } from './transport/json-rpc.js';
import type { RequestError } from './transport/transport-error.js';
import type { ProtocolVersion } from './transport/version.js';

/** The server side of one A2A version: what a controller, a stream or a webhook needs to decode and encode it. */
export interface A2aCodec {
  readonly version: ProtocolVersion;
  /** The methods of the JSON-RPC binding. */
  readonly methods: MethodRegistry;
  /** The HTTP+JSON binding. */
  readonly http: HttpBinding;
  /** Paths of the bindings below the server's public URL, as a card lists them. */
  readonly interfacePaths: Readonly<Record<CardBinding, string>>;
  /** Whether a subscription ends with the current turn (v0.3's `final`), or with the task. */
  readonly subscriptionUntil: 'turn' | 'end';
  /** The payload of a webhook request: the update, or the complete task after it. */
  readonly webhook: { readonly payload: 'update' | 'task'; readonly mediaType: string };
  /** Encodes the result of one stream frame of JSON-RPC, and the body of one webhook request. */
  encodeUpdate(update: StreamUpdate): Json;
  encodeCard(card: CardDescription): JsonObject;
  /** Encodes an error of the JSON-RPC binding. */
  rpcError(error: RequestError): RpcError;
  /** Encodes an error response of the HTTP+JSON binding. */
  httpError(error: RequestError): { readonly status: number; readonly body: JsonObject };
}

/** The `encode` of a stream in a method table. It must not be called, because the updates of a stream are encoded one by one. */
export function streamHasNoSingleResult(result: never): never {
  throw new Error(`a stream has no single result, but encode was called with ${JSON.stringify(result)}`);
}
