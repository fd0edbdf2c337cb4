export { type AddressClass, addressClassOf } from './address-rules.js';
export { HttpFailure } from './http-failure.js';
export type { HttpResponse } from './http-response.js';
export { isLoopback, MAX_PROXIES, parseHost, parseTrustProxy } from './listen-address.js';
export { PinnedHttpClient } from './pinned-http-client.js';
export type { Resolver } from './target-addresses.js';
export { TargetRules } from './target-rules.js';
