export type * from './client/client-codec.js';
export type { A2aCodec } from './codec.js';
export {
  cardInterfaces,
  type CardBinding,
  type CardDescription,
  type CardExtension,
  type CardInterface,
  type CardSigner,
  type CardSkill,
} from './card-description.js';
export { type RequestError, TransportError } from './transport/transport-error.js';
export { asRequestError, jsonRpcHttpStatus, retryAfterSeconds } from './transport/error-details.js';
export type { HttpBinding, HttpRoute } from './transport/http-binding.js';
export { resolveView } from './placeholder.js';
export { paramsOfQuery, type HttpQuery } from './transport/http-query.js';
export * from './transport/json-rpc.js';
export * from './transport/media-type.js';
export * from './requests.js';
export * from './transport/sse.js';
export * from './stream-update.js';
export * from './validation/strict-json.js';
export * from './transport/extensions.js';
export { parseTimestamp } from './validation/timestamp.js';
export * from './transport/version.js';
export * as v1 from './v1/index.js';
export * as v03 from './v03/index.js';
export * as rest from './rest/index.js';
export * as native from './native/index.js';
