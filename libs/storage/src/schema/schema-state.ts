import type { Executor } from '../postgres/database.js';
import { StorageError } from '../storage-error.js';
import type { SchemaDefinition } from './schema-definition.js';

/** How the schema of a database relates to the one that this version of Acta needs. */
export type SchemaState =
  | { readonly kind: 'current' }
  /** The database has no tables of Acta in the schema that the role uses. */
  | { readonly kind: 'missing' }
  /** The tables exist, and no `acta migrate` has recorded them: the files were run with psql. */
  | { readonly kind: 'unrecorded' }
  /** Migrations are pending. */
  | { readonly kind: 'older'; readonly number: number; readonly pending: readonly string[] }
  /** A newer version of Acta has changed the schema. */
  | { readonly kind: 'newer'; readonly number: number; readonly isCompatible: boolean }
  /** A file differs from the one that was applied. */
  | { readonly kind: 'edited'; readonly problem: string };

interface VersionRow {
  readonly number: number;
  readonly oldest_compatible: number;
}

interface AppliedFile {
  readonly name: string;
  readonly checksum: Buffer;
}

/** Compares what `acta migrate` has recorded in the database with the files of this version. Changes nothing. */
export async function readSchemaState(executor: Executor, definition: SchemaDefinition): Promise<SchemaState> {
  const { rows } = await executor.query<{ exists: boolean }>(
    `select to_regclass('schema_version') is not null and to_regclass('schema_migration') is not null as exists`,
  );
  if (!rows[0]!.exists) return { kind: 'missing' };
  const version = await executor.query<VersionRow>('select number, oldest_compatible from schema_version');
  const [recorded] = version.rows;
  if (recorded === undefined) return { kind: 'unrecorded' };
  const files = await executor.query<AppliedFile>('select name, checksum from schema_migration order by name');
  const problem = editedFile(recorded, files.rows, definition);
  if (problem !== null) return { kind: 'edited', problem };
  const { number } = recorded;
  if (number === definition.number) return { kind: 'current' };
  if (number > definition.number) {
    return { kind: 'newer', number, isCompatible: recorded.oldest_compatible <= definition.number };
  }
  const applied = new Set(files.rows.map(({ name }) => name));
  const pending = definition.migrations.map(({ name }) => name).filter((name) => !applied.has(name));
  return { kind: 'older', number, pending };
}

/** What to do about pending migrations, for a program without the rights of the owner. */
const MIGRATE_AS_OWNER = 'run `acta migrate` as the role that owns the schema (ACTA_OWNER_DATABASE_URL)';

/**
 * Returns a sentence without its first capital letter and its period: what is wrong, and what to do. `migrate` is what to do
 * about pending migrations.
 */
export function describeSchemaState(
  state: SchemaState,
  { number: needed }: SchemaDefinition,
  migrate = MIGRATE_AS_OWNER,
): string {
  switch (state.kind) {
    case 'current':
      return `the schema of the database has the number ${needed}, which is current`;
    case 'missing':
      return `the database has no tables of Acta: ${migrate}`;
    case 'unrecorded':
      return `the database has tables of Acta without a record of its migrations: ${migrate}`;
    case 'older':
      return `the schema of the database has the number ${state.number}, and this version of Acta needs ${needed} (pending: ${state.pending.join(', ') || 'functions'}): ${migrate}`;
    case 'newer':
      return state.isCompatible
        ? `the schema of the database has the number ${state.number}, which is newer than this version of Acta needs (${needed}), and compatible`
        : `the schema of the database has the number ${state.number}, which is newer than this version of Acta can use (${needed}): start a newer version of Acta`;
    case 'edited':
      return state.problem;
  }
}

/** Returns the error for a problem of the schema, which starts in lower case. */
export const schemaError = (problem: string): StorageError =>
  new StorageError(`${problem.charAt(0).toUpperCase()}${problem.slice(1)}.`);

/** Returns whether a program can use a schema in this state. */
export const isUsable = (state: SchemaState): boolean =>
  state.kind === 'current' || (state.kind === 'newer' && state.isCompatible);

/** Returns the first file that differs from the one that was applied, as a problem; null if there is none. */
function editedFile(
  { number }: VersionRow,
  applied: readonly AppliedFile[],
  { number: ownNumber, migrations, functions }: SchemaDefinition,
): string | null {
  // A schema of a different number has different functions.
  const files = new Map([...migrations, ...(number === ownNumber ? functions : [])].map((file) => [file.name, file]));
  for (const { name, checksum } of applied) {
    const file = files.get(name);
    if (file !== undefined && !file.checksum.equals(checksum)) {
      return `the file migrations/${name}.sql was edited after it was applied to the database: restore the file, and make the change in a new migration`;
    }
    if (file === undefined && number <= ownNumber && !name.startsWith('functions/')) {
      return `the file migrations/${name}.sql was applied to the database and is missing in this version of Acta: restore the file`;
    }
  }
  if (number !== ownNumber) return null;
  const names = new Set(applied.map(({ name }) => name));
  const added = [...files.keys()].find((name) => !names.has(name));
  return added === undefined
    ? null
    : `the file migrations/${added}.sql is not part of schema ${number}: raise the number in migrations/version.json`;
}
