export { AccessModule } from './access.module.js';
export { insertAuditEntry } from './audit/audit-entry.js';
export { type AuditEntry, AuditLog, type AuditPageRequest } from './audit/audit-log.js';
export { AuditLogModule } from './audit/audit-log.module.js';
export { Authenticator, BOOTSTRAP_ADMIN, credentialRequired } from './authentication/authenticator.js';
export { TokenBuckets } from './authentication/token-buckets.js';
export { type ApiKey, ApiKeys, type IssuedApiKey, OPERATING_TENANT } from './keys/api-keys.js';
