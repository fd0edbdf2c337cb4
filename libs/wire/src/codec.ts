import type { Json, JsonObject } from '@app/domain';
import type { CardDescription } from './card-description.js';
import type { HttpBinding } from './transport/http-binding.js';
import type { RpcError } from './transport/json-rpc.js';
import type { MethodRegistry } from './requests.js';
import type { RequestError } from './transport/transport-error.js';
import type { StreamUpdate } from './stream-update.js';
import type { ProtocolVersion } from './transport/version.js';

/** One protocol version of A2A: everything that a controller, a stream or a webhook needs to speak it. */
export interface A2aCodec {
  readonly version: ProtocolVersion;
  /** JSON-RPC. */
  readonly methods: MethodRegistry;
  /** HTTP+JSON. */
  readonly http: HttpBinding;
  /** When a subscription to a task ends: with the turn (0.3's `final`), or only with the task. */
  readonly subscriptionUntil: 'turn' | 'end';
  /** What a webhook is told: each update as it is, or the whole task after it. */
  readonly webhook: { readonly payload: 'update' | 'task'; readonly mediaType: string };
  /** The result of one stream frame of JSON-RPC, and the body of one webhook delivery. */
  encodeUpdate(update: StreamUpdate): Json;
  encodeCard(card: CardDescription): JsonObject;
  rpcError(error: RequestError): RpcError;
  /** The HTTP+JSON binding's answer. */
  httpError(error: RequestError): { readonly status: number; readonly body: JsonObject };
}

/** Where a method table wants the encoder of a stream: its results are updates, encoded one by one. */
export function streamHasNoSingleResult(result: never): never {
  throw new Error(`a stream has no single result: ${JSON.stringify(result)}`);
}
