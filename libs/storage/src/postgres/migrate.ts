import { Migrator } from 'kysely';
import { MIGRATIONS } from '../../../../migrations/index.js';
import { StorageError } from '../storage-error.js';
import type { Database } from './database.js';

/**
 * Applies the pending migrations and returns their names. Processes can call it concurrently: the lock of Kysely lets
 * one of them apply the migrations. Throws StorageError if the schema is newer than this version of Acta.
 */
export async function migrate(database: Database): Promise<string[]> {
  const migrator = migratorFor(database);
  const applied = await migrator.getMigrations().catch(() => []);
  if (applied.length > 0) await checkSchemaIsNotNewer(database);
  const { error, results } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
  return (results ?? []).filter((r) => r.status === 'Success').map((r) => r.migrationName);
}

/**
 * Returns the names of the pending migrations. Throws StorageError if the schema is newer than this version of Acta.
 */
export async function pendingMigrations(database: Database): Promise<string[]> {
  await checkSchemaIsNotNewer(database);
  const migrations = await migratorFor(database).getMigrations();
  return migrations.filter(({ executedAt }) => executedAt === undefined).map(({ name }) => name);
}

function migratorFor({ kysely }: Database): Migrator {
  return new Migrator({ db: kysely, provider: { getMigrations: async () => MIGRATIONS } });
}

async function checkSchemaIsNotNewer(database: Database): Promise<void> {
  const { rows } = await database.pool.query<{ present: string | null }>(
    "select to_regclass('kysely_migration') as present",
  );
  if (rows[0]!.present === null) return;
  const known = new Set(Object.keys(MIGRATIONS));
  const recorded = await database.pool.query<{ name: string }>('select name from kysely_migration order by name');
  const newer = recorded.rows.map((row) => row.name).filter((name) => !known.has(name));
  if (newer.length > 0) {
    throw new StorageError(
      `The schema of the database is newer than this version of Acta (${newer.join(', ')}): start a newer version of Acta.`,
    );
  }
}
