import { checkDatabaseUrl } from '../postgres/check-database-url.js';
import { type ConnectionConfig, Database } from '../postgres/database.js';
import { inspectSchema } from './inspect-schema.js';
import { migrate } from './migrate.js';
import { readSchemaDefinition, type SchemaDefinition } from './schema-definition.js';
import { canMigrate } from './schema-roles.js';
import { schemaError } from './schema-state.js';

/** The connection of a program, and that of the role that owns the schema, if the program has one. */
export interface SchemaConnections {
  readonly connection: ConnectionConfig;
  readonly owner: ConnectionConfig | null;
}

/**
 * Makes sure that a program can use the schema with its connection. With the rights of the owner, it migrates the schema and
 * grants missing rights. Otherwise it only compares. Throws StorageError with what to run.
 */
export async function prepareSchema(
  { connection, owner }: SchemaConnections,
  definition?: SchemaDefinition,
): Promise<void> {
  const expected = definition ?? (await readSchemaDefinition());
  const inspect = () => withDatabase(connection, ({ pool }) => inspectSchema(pool, expected));
  const found = await inspect();
  if (found.problem === null) return;
  if (owner === null && !canMigrate(found.role)) throw schemaError(found.problem);
  if (typeof owner === 'string') await checkDatabaseUrl(owner, 'ACTA_OWNER_DATABASE_URL');
  const migrateAsOwner = (grantTo?: string) =>
    withDatabase(owner ?? connection, (database) => migrate(database, { definition: expected, grantTo }));
  await migrateAsOwner();
  const migrated = await inspect();
  if (migrated.problem === null) return;
  if (owner !== null) await migrateAsOwner(migrated.role.name);
  const { problem } = await inspect();
  if (problem !== null) throw schemaError(problem);
}

/** Runs work without a query timeout, because a migration can take long. */
async function withDatabase<T>(connection: ConnectionConfig, work: (database: Database) => Promise<T>): Promise<T> {
  const database = new Database(connection, { maxConnections: 1 });
  return work(database).finally(() => database.close());
}
