export * from './address-rules.js';
export { HttpFailure } from './http-failure.js';
export type { HttpResponse } from './http-response.js';
export * from './listen-address.js';
export { PinnedHttpClient } from './pinned-http-client.js';
export * from './target-addresses.js';
export * from './target-rules.js';
