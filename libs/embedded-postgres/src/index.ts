export { type EmbeddedPostgres, type EmbeddedPostgresOptions, openEmbeddedPostgres } from './embedded-postgres.js';
export { hasErrorCode } from './error-code.js';
export { createFolder } from './folders.js';
