import { constants } from 'node:fs';
import { access, lstat, mkdtemp, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Config, readConfig } from '@app/config';
import { type Connection, type Database, openDatabase, pendingMigrations } from '@app/storage';

/** One thing that a server needs; `detail` says what was found, or what is wrong and how to mend it. */
export interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
}

/**
 * Checks in the order in which a start needs them, up to the first that the others need. Like a start, it makes the
 * embedded database where there is none; nothing else that it does stays.
 */
export async function diagnose(): Promise<Finding[]> {
  const findings: Finding[] = [nodeVersion(process.versions.node)];
  const note = async <T>(check: string, work: () => Promise<[T, string]> | [T, string]): Promise<T | null> => {
    try {
      const [value, detail] = await work();
      findings.push({ check, ok: true, detail });
      return value;
    } catch (error) {
      findings.push({ check, ok: false, detail: error instanceof Error ? error.message : String(error) });
      return null;
    }
  };
  const config = await note('configuration', () => {
    const read = readConfig();
    return [
      read,
      `agents ${read.agents.join(', ')}; ${read.databaseUrl === null ? 'embedded database' : 'DATABASE_URL'}`,
    ];
  });
  if (config === null) return findings;
  await note('data directory', () => dataDirectory(config));
  const connection = await note('database', () => connect(config));
  if (connection === null) return findings;
  try {
    const { database } = connection;
    await note('database version', () => version(database));
    const current = await note('schema', () => schema(database));
    if (current === true) await note('secret', () => secret(connection));
    await note('writing', () => writing(database, current === true));
  } finally {
    await connection.close();
  }
  return findings;
}

/** The versions of package.json's `engines`. */
export function nodeVersion(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const ok = (major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22;
  const detail = ok ? version : `this is ${version}: install Node 20.19 or later, 22.12 or later, or a newer one`;
  return { check: 'Node', ok, detail };
}

async function dataDirectory({ dataDir, databaseUrl, token }: Config): Promise<[null, string]> {
  if (databaseUrl !== null && token !== null) return [null, 'not needed'];
  const there = await stat(dataDir).catch(() => null);
  if (there !== null && !there.isDirectory()) {
    throw new Error(`${dataDir} is no folder: remove it, or set ACTA_DATA_DIR to another place`);
  }
  if (there === null) {
    if ((await lstat(dataDir).catch(() => null)) !== null) {
      throw new Error(`${dataDir} is a link to what is not there: make that, or set ACTA_DATA_DIR to another place`);
    }
    await makeable(dataDir);
    return [null, `${dataDir} was not there, and can be made`];
  }
  await usable(dataDir);
  if (process.platform !== 'win32' && (there.mode & 0o077) !== 0) {
    throw new Error(`${dataDir} is open to other accounts, and holds secrets: run chmod 700 on it`);
  }
  return [null, dataDir];
}

/** Below the first folder that is there. Some take none though their rights say otherwise, such as /proc. */
async function makeable(folder: string): Promise<void> {
  let above = dirname(folder);
  while (above !== dirname(above) && (await stat(above).catch(() => null)) === null) above = dirname(above);
  await mkdtemp(join(above, '.acta-doctor-')).then(rmdir, () => {
    throw new Error(`${folder} cannot be made: give access to ${above}, or set ACTA_DATA_DIR to another place`);
  });
}

async function usable(folder: string): Promise<void> {
  await access(folder, constants.R_OK | constants.W_OK | constants.X_OK).catch(() => {
    throw new Error(
      `${folder} cannot be written by this account: give it access, or set ACTA_DATA_DIR to another place`,
    );
  });
}

async function connect({ databaseUrl, dataDir, secretKey }: Config): Promise<[Connection, string]> {
  const connection = await openDatabase({ databaseUrl, dataDir, secretKey, maxConnections: 2 });
  return [connection, 'it answers'];
}

async function version({ pool }: Database): Promise<[null, string]> {
  const { rows } = await pool.query<{ name: string }>(`select current_setting('server_version') as name`);
  // One that is too old has been refused while connecting.
  return [null, `Postgres ${rows[0]!.name}`];
}

async function schema(database: Database): Promise<[true, string]> {
  const pending = await pendingMigrations(database);
  if (pending.length > 0) throw new Error(`it lacks ${pending.join(', ')}: run \`acta migrate\`, or start a server`);
  return [true, 'up to date'];
}

async function secret({ database, secret: own }: Connection): Promise<[null, string]> {
  const { rows } = await database.pool.query<{ secret_fingerprint: string }>(
    'select secret_fingerprint from server_state',
  );
  const [state] = rows;
  if (state === undefined) return [null, 'no server has started on this database so far'];
  if (state.secret_fingerprint === own.fingerprint()) return [null, 'the one that the database was written with'];
  throw new Error('the database was written with another one: set ACTA_SECRET_KEY to the one that it was created with');
}

/** Takes back what it writes. */
async function writing(database: Database, migrated: boolean): Promise<[null, string]> {
  await database.transaction(async (executor) => {
    await executor.query('savepoint before_test');
    if (migrated) {
      await executor.query(
        `insert into context (tenant_id, owner, context_id, ring) values ('acta-doctor', 'acta-doctor', gen_random_uuid()::text, '-')`,
      );
    } else await executor.query('create table acta_doctor ()');
    await executor.query('rollback to savepoint before_test');
  });
  return [null, 'a row can be written'];
}
