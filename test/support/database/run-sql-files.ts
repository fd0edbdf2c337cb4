import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../project-files.js';
import type { TestDatabase } from './test-database.js';

const run = promisify(execFile);
const MIGRATIONS = join(ROOT, 'migrations');
const sqlFiles = (folder: string) => readdirSync(join(MIGRATIONS, folder)).filter((name) => name.endsWith('.sql'));

/** The files that create the schema, in the order of docs/database.md. */
export const SCHEMA_FILES: readonly string[] = [
  ...sqlFiles('functions').map((name) => join('functions', name)),
  ...sqlFiles('.').filter((name) => /^\d/.test(name)),
];

/**
 * Runs files of `migrations/` as the owner, like a database administrator: with psql, or as simple queries on a system without
 * psql. `variables` are those of psql.
 */
export async function runSqlFiles(
  database: TestDatabase,
  files: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<void> {
  const definitions = Object.entries(variables).flatMap(([name, value]) => ['-v', `${name}=${value}`]);
  for (const name of files) {
    const path = join(MIGRATIONS, name);
    const args = [database.ownerUrl, '-q', '-v', 'ON_ERROR_STOP=1', ...definitions, '-f', path];
    await run('psql', args).catch(async (error: { code?: string }) => {
      if (error.code !== 'ENOENT') throw error;
      const sql = await readFile(path, 'utf8');
      await database.asOwner(sql.replace(/:(["'])(\w+)\1/g, (_, quote, key) => quote + variables[key] + quote));
    });
  }
}
