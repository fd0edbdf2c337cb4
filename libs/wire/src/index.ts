export type { CardBinding, CardDescription, CardExtension } from './card-description.js';
export type {
  A2aClientCodec,
  OutgoingMessage,
  UpstreamCard,
  UpstreamIds,
  UpstreamInterface,
  UpstreamStatus,
  UpstreamTaskSnapshot,
  UpstreamUpdate,
} from './client/client-codec.js';
export type { A2aCodec } from './codec.js';
export { encodeCompatibleCard } from './compatible-card.js';
export { isStorableText } from './json/json-walk.js';
export { parseAndCheckJson, parseJson } from './json/strict-json.js';
export { native } from './native/index.js';
export { resolvePlaceholders, resolveView } from './task/placeholder.js';
export { cardInterfaces, decodeCard, PROTOCOLS } from './protocols.js';
export type { AnyMethod, Method, Operation, Operations, SendRequest, TaskRequest } from './requests.js';
export { rest } from './rest/index.js';
export { type StreamUpdate, updatesOf } from './task/stream-update.js';
export { asRequestError, jsonRpcHttpStatus, retryAfterSeconds } from './transport/error-details.js';
export { activeExtensions, requestedExtensions } from './transport/extensions.js';
export type { HttpRoute } from './transport/http-binding.js';
export type { HttpQuery } from './transport/http-query.js';
export { encodeError, encodeResult, readCall, type RpcCall, type RpcId } from './transport/json-rpc.js';
export {
  A2A_JSON_MEDIA_TYPE,
  checkMediaType,
  EVENT_STREAM_MEDIA_TYPE,
  JSON_MEDIA_TYPE,
  prefersEventStream,
  responseMediaType,
} from './transport/media-type.js';
export { encodeSseComment, encodeSseFrame, encodeSseRetry, type SseFrame } from './transport/sse.js';
export { parseTimestamp } from './validation/timestamp.js';
export { methodNotAllowed, type RequestError, TransportError } from './transport/transport-error.js';
export { PROTOCOL_VERSIONS, type ProtocolVersion, protocolVersionOf, VERSION_HEADER } from './transport/version.js';
