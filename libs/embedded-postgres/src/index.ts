export { createFolder } from './create-folder.js';
export { type EmbeddedPostgres, type EmbeddedPostgresOptions, openEmbeddedPostgres } from './embedded-postgres.js';
export { EmbeddedPostgresError, hasCode } from './embedded-postgres-error.js';
