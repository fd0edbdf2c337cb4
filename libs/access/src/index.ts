export * from './api-keys.js';
export * from './audit-trail.js';
export * from './authenticator.js';
export * from './access.module.js';
export { TokenBuckets } from './token-buckets.js';
