export { HttpFailure } from './http-failure.js';
export type { HttpResponse } from './http-response.js';
export { isLoopback, MAX_PROXIES, parseHost, parseTrustProxy } from './listen-address.js';
export { PinnedHttpClient } from './pinned-http-client.js';
export {
  errorCodeSuffix,
  pinnedLookup,
  type Resolver,
  resolveTarget,
  systemResolver,
  UnusableHost,
} from './target-addresses.js';
export { hostWithoutBrackets, TargetRules } from './target-rules.js';
