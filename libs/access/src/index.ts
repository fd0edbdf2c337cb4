export * from './keys/api-keys.js';
export * from './audit/audit-log.js';
export * from './authentication/authenticator.js';
export * from './access.module.js';
export { TokenBuckets } from './authentication/token-buckets.js';
