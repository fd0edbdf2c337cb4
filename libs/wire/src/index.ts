export type * from './client-codec.js';
export type { A2aCodec } from './codec.js';
export {
  interfacesAt,
  type CardBinding,
  type CardDescription,
  type CardExtension,
  type CardInterface,
  type CardSigner,
  type CardSkill,
} from './card-description.js';
export { asDomainError, jsonRpcStatus, retryAfterSeconds } from './error-details.js';
export type { HttpBinding, HttpRoute } from './http-binding.js';
export { paramsOfQuery, type HttpQuery } from './http-query.js';
export * from './json-rpc.js';
export * from './media-type.js';
export * from './requests.js';
export * from './sse.js';
export * from './stream-update.js';
export * from './strict-json.js';
export * from './extensions.js';
export { parseTimestamp } from './timestamp.js';
export * from './version.js';
export * as v1 from './v1/index.js';
export * as v03 from './v03/index.js';
export * as rest from './rest/index.js';
export * as native from './native/index.js';
