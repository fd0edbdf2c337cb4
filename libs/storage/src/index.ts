export { ContentCipher, type TaskKey } from './crypto/content-cipher.js';
export {
  DECODED_COLUMNS,
  type DecodedColumns,
  EventDecoder,
  type TaskHead,
  type WrappedKeyColumns,
} from './crypto/event-decoder.js';
export { ServerKeys } from './crypto/server-keys.js';
export { ServerSecret, type SigningKey, type SigningPurpose } from './crypto/server-secret.js';
export { WebhookCipher, type WebhookRows, type WebhookTarget } from './crypto/webhook-cipher.js';
export { DataDirectory } from './data-directory.js';
export { Database, type Executor, type NamedStatement } from './postgres/database.js';
export {
  connectAsOwner,
  connectToDatabase,
  type DatabaseConnection,
  openStorage,
  type OwnerConnection,
  type Storage,
  type StorageOptions,
} from './postgres/open-storage.js';
export type { Schema, StoredEvent } from './postgres/schema.js';
export { isLockTimeout, isRolledBack, isUnavailable, SQL_STATE, sqlStateOf } from './postgres/sql-state.js';
export {
  differenceFromSnapshot,
  explainStatementError,
  inspectSchema,
  type SchemaInspection,
} from './schema/inspect-schema.js';
export { migrate, type MigrationResult } from './schema/migrate.js';
export { printSchema } from './schema/print-schema.js';
export { readSchemaDefinition } from './schema/schema-definition.js';
export { StorageModule } from './storage.module.js';
export { type TaskChange, TaskWakeups } from './wakeups/task-wakeups.js';
