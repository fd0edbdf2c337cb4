import type { Database, Executor } from '../postgres/database.js';
import { isUnavailable } from '../postgres/sql-state.js';
import { StorageError } from '../storage-error.js';
import { setGrants } from './grants.js';
import { inspectSchema } from './inspect-schema.js';
import { firstDifference, hasObjectOf, printSchema } from './print-schema.js';
import { readSchemaDefinition, type SchemaDefinition, type SchemaFile } from './schema-definition.js';
import { canMigrate } from './schema-roles.js';
import { describeSchemaState, isUsable, schemaError, type SchemaState } from './schema-state.js';

export interface MigrateOptions {
  /** Absent: the files of this version. */
  readonly definition?: SchemaDefinition;
  /** A role that gets the rights of an application role. */
  readonly grantTo?: string;
}

export interface MigrationResult {
  /** The schema number of the database. */
  readonly number: number;
  /** The migrations that were applied. */
  readonly applied: readonly string[];
  /** The migrations that were run with psql before, and that are now recorded. */
  readonly adopted: readonly string[];
  /** The application roles, whose rights were set again. */
  readonly granted: readonly string[];
}

/** The namespace of the advisory locks of Acta is 'ACTA' in ASCII. */
const LOCK_NAMESPACE = 0x41435441;
const MIGRATION_LOCK = 3;

/**
 * Applies the pending migrations and the functions of a new schema number, in one transaction. A schema that is current or
 * newer is not changed. Processes can call it concurrently. The role must own the schema, unless nothing is to be done.
 * Throws StorageError.
 */
export async function migrate(database: Database, options: MigrateOptions = {}): Promise<MigrationResult> {
  const definition = options.definition ?? (await readSchemaDefinition());
  return database.transaction(async (executor) => {
    await executor.query('select pg_advisory_xact_lock($1, $2)', [LOCK_NAMESPACE, MIGRATION_LOCK]);
    const { role, state, problem } = await inspectSchema(executor, definition);
    const mayChange = canMigrate(role);
    if (!mayChange && (problem !== null || options.grantTo !== undefined)) {
      throw new StorageError(
        `The role ${role.name} may not change the schema of the database: run \`acta migrate\` as the role that owns it (ACTA_OWNER_DATABASE_URL).`,
      );
    }
    const changes = await migrateFrom(state!, definition, executor);
    const granted = mayChange ? await setGrants(definition, options.grantTo, executor) : [];
    const { rows } = await executor.query<{ number: number }>('select number from schema_version');
    return { number: rows[0]!.number, ...changes, granted };
  });
}

async function migrateFrom(
  state: SchemaState,
  definition: SchemaDefinition,
  executor: Executor,
): Promise<Pick<MigrationResult, 'applied' | 'adopted'>> {
  if (isUsable(state)) return { applied: [], adopted: [] };
  if (state.kind === 'newer' || state.kind === 'edited') throw schemaError(describeSchemaState(state, definition));
  const pending = state.kind === 'older' ? state.pending : definition.migrations.map(({ name }) => name);
  const isApplied = await isAppliedByHand(state, definition, executor);
  if (!isApplied) await applyFiles(definition, pending, executor);
  await recordFiles(definition, executor);
  return isApplied ? { applied: [], adopted: pending } : { applied: pending, adopted: [] };
}

/**
 * Returns whether somebody has run all files with psql, so that only their record is missing. Throws StorageError if the
 * schema contains tables of Acta that differ from those of the files.
 */
async function isAppliedByHand(
  state: SchemaState,
  { number, snapshot }: SchemaDefinition,
  executor: Executor,
): Promise<boolean> {
  // An older snapshot would pass off pending migrations as applied.
  if (!snapshot.includes(`\n-- Schema ${number}\n`)) return false;
  const printed = await printSchema(executor);
  if (!hasObjectOf(snapshot, printed)) return false;
  const difference = firstDifference(snapshot, printed);
  if (difference === null) return true;
  if (state.kind === 'older') return false;
  throw new StorageError(
    `The database has tables of Acta without a record of its migrations, and they differ from migrations/schema.sql: ${difference}; run all files of migrations/, or use an empty database, schema or ACTA_DATA_DIR.`,
  );
}

/** Functions come first, because the triggers of the migrations need them. */
async function applyFiles(
  { functions, migrations }: SchemaDefinition,
  pending: readonly string[],
  executor: Executor,
): Promise<void> {
  const files = [...functions, ...migrations.filter(({ name }) => pending.includes(name))];
  for (const file of files) await applyFile(file, executor);
}

async function applyFile({ name, sql }: SchemaFile, executor: Executor): Promise<void> {
  try {
    await executor.query(sql);
  } catch (error) {
    if (isUnavailable(error)) throw error;
    throw new StorageError(
      `The file migrations/${name}.sql cannot be applied (${(error as Error).message}): correct the cause and run \`acta migrate\` again; nothing was changed.`,
      { cause: error },
    );
  }
}

async function recordFiles(
  { number, oldestCompatible, migrations, functions }: SchemaDefinition,
  executor: Executor,
): Promise<void> {
  const files = [...migrations, ...functions];
  await executor.query(`delete from schema_migration where name like 'functions/%' and name <> all($1)`, [
    functions.map(({ name }) => name),
  ]);
  await executor.query(
    `insert into schema_migration as m (name, checksum) select * from unnest($1::text[], $2::bytea[])
     on conflict (name) do update set checksum = excluded.checksum, applied_at = excluded.applied_at
     where m.checksum <> excluded.checksum`,
    [files.map(({ name }) => name), files.map(({ checksum }) => checksum)],
  );
  await executor.query(
    `insert into schema_version (number, oldest_compatible) values ($1, $2)
     on conflict (only_row) do update set number = excluded.number, oldest_compatible = excluded.oldest_compatible,
       applied_at = excluded.applied_at`,
    [number, oldestCompatible],
  );
}
