import { hash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A SQL file below `migrations/`. */
export interface SchemaFile {
  /** The path below `migrations/` without the extension, such as `0002-event-log` or `functions/append_events`. */
  readonly name: string;
  readonly sql: string;
  /** SHA-256 of the text. */
  readonly checksum: Buffer;
}

/** The schema that this version of Acta needs: the content of `migrations/`. */
export interface SchemaDefinition {
  readonly number: number;
  /** The lowest schema number whose program can use this schema. */
  readonly oldestCompatible: number;
  /** In order and forward only. */
  readonly migrations: readonly SchemaFile[];
  /** The current definition of each function, after those that only programs of the previous version call. */
  readonly functions: readonly SchemaFile[];
  /** The text of `schema.sql`: the schema as `printSchema` prints it. */
  readonly snapshot: string;
  /** The text of `grants.sql`, for psql: it has the variables `role` and `schema`. */
  readonly grants: string;
}

/** The build copies the files, so this is the same folder when the code runs from source and from `dist`. */
const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../../../migrations/', import.meta.url));
const MIGRATION = /^\d{4}-[a-z0-9-]+\.sql$/;

/** Reads the files of `migrations/`. */
export async function readSchemaDefinition(folder = MIGRATIONS_FOLDER): Promise<SchemaDefinition> {
  const { number, oldestCompatible } = JSON.parse(await readText(folder, 'version.json')) as SchemaDefinition;
  const names = (await readdir(folder)).filter((name) => MIGRATION.test(name)).toSorted();
  const [migrations, previous, current, snapshot, grants] = await Promise.all([
    Promise.all(names.map((name) => readSchemaFile(folder, name))),
    readFolder(folder, 'functions/previous'),
    readFolder(folder, 'functions'),
    readText(folder, 'schema.sql').catch(() => ''),
    readText(folder, 'grants.sql'),
  ]);
  return { number, oldestCompatible, migrations, functions: [...previous, ...current], snapshot, grants };
}

/** Reads the SQL files of a folder, which may be missing. */
async function readFolder(folder: string, path: string): Promise<SchemaFile[]> {
  const names = await readdir(join(folder, path)).catch(() => []);
  const files = names.filter((name) => name.endsWith('.sql')).toSorted();
  return Promise.all(files.map((name) => readSchemaFile(folder, `${path}/${name}`)));
}

async function readSchemaFile(folder: string, path: string): Promise<SchemaFile> {
  const sql = await readText(folder, path);
  return { name: path.replace(/\.sql$/, ''), sql, checksum: hash('sha256', sql, 'buffer') };
}

/** Git may check files out with CRLF, which must not change a checksum. */
async function readText(folder: string, path: string): Promise<string> {
  return (await readFile(join(folder, path), 'utf8')).replaceAll('\r\n', '\n');
}
