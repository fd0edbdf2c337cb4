import { Migrator } from 'kysely';
import { MIGRATIONS } from '../../../../migrations/index.js';
import type { Database } from './database.js';

/** The database has been migrated by a newer Acta than this one. */
export class NewerSchemaError extends Error {}

/**
 * Brings the schema up to date and gives the names of the migrations that it applied. Several starters at once are safe: Kysely's
 * lock lets one apply, and the others find nothing to do.
 */
export async function migrate(database: Database): Promise<string[]> {
  const migrator = new Migrator({ db: database.kysely, provider: { getMigrations: async () => MIGRATIONS } });
  const applied = await migrator.getMigrations().catch(() => []);
  if (applied.length > 0) await refuseNewerSchema(database);
  const { error, results } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
  return (results ?? []).filter((r) => r.status === 'Success').map((r) => r.migrationName);
}

/** Names of the migrations that the database lacks. Changes nothing. Throws NewerSchemaError. */
export async function pendingMigrations(database: Database): Promise<string[]> {
  await refuseNewerSchema(database);
  const migrator = new Migrator({ db: database.kysely, provider: { getMigrations: async () => MIGRATIONS } });
  const known = await migrator.getMigrations();
  return known.filter(({ executedAt }) => executedAt === undefined).map(({ name }) => name);
}

async function refuseNewerSchema(database: Database): Promise<void> {
  const { rows } = await database.pool.query<{ present: string | null }>(
    "select to_regclass('kysely_migration') as present",
  );
  if (rows[0]!.present === null) return;
  const known = new Set(Object.keys(MIGRATIONS));
  const recorded = await database.pool.query<{ name: string }>('select name from kysely_migration order by name');
  const newer = recorded.rows.map((row) => row.name).filter((name) => !known.has(name));
  if (newer.length > 0) {
    throw new NewerSchemaError(`the database has a newer schema (${newer.join(', ')}): start a newer Acta on it`);
  }
}
