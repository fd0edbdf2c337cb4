import { constants } from 'node:fs';
import { access, lstat, mkdtemp, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Config, readConfig } from '@app/config';
import {
  connectToDatabase,
  type Database,
  type DatabaseConnection,
  differenceFromSnapshot,
  inspectSchema,
  readSchemaDefinition,
  type SchemaInspection,
} from '@app/storage';

/** The result of one check. `detail` states what was found, or what is wrong and how to correct it. */
export interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** Returns a value for later checks and the detail of the finding. Throws an error whose message is the detail. */
type Check<T> = () => Promise<[T, string]> | [T, string];

/**
 * Checks the requirements of a server in the order of its startup, and stops after a failure that later checks depend on.
 * Like a start, it creates the embedded database if that does not exist. It changes nothing else.
 */
export async function diagnose(): Promise<Finding[]> {
  const findings: Finding[] = [checkNodeVersion(process.versions.node)];
  const run = async <T>(check: string, work: Check<T>): Promise<T | null> => {
    try {
      const [value, detail] = await work();
      findings.push({ check, ok: true, detail });
      return value;
    } catch (error) {
      findings.push({ check, ok: false, detail: error instanceof Error ? error.message : String(error) });
      return null;
    }
  };
  const config = await run('configuration', checkConfiguration);
  if (config === null) return findings;
  await run('data directory', () => checkDataDirectory(config));
  const connection = await run('database', () => connect(config));
  if (connection === null) return findings;
  try {
    const { database } = connection;
    await run('database version', () => checkVersion(database));
    const remedy = connection.owner === null ? undefined : 'run `acta migrate`, or start a server';
    const inspection = await inspectSchema(database.pool, await readSchemaDefinition(), remedy);
    await run('database role', () => checkRole(inspection));
    const isUsable = await run('schema', () => checkSchema(inspection));
    if (isUsable === null) return findings;
    await run('tables', () => checkTables(database, inspection));
    await run('secret', () => checkSecret(connection));
    await run('write access', () => checkWriteAccess(database));
  } finally {
    await connection.close();
  }
  return findings;
}

/** Checks the version of Node against `engines` in package.json. */
export function checkNodeVersion(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const ok = (major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22;
  const detail = ok
    ? version
    : `${version} is not supported: install Node 20.19 or later, 22.12 or later, or 23 or later`;
  return { check: 'Node', ok, detail };
}

function checkConfiguration(): [Config, string] {
  const config = readConfig();
  const database = config.databaseUrl === null ? 'embedded database' : 'DATABASE_URL';
  return [config, `agents ${config.agents.join(', ')}; ${database}`];
}

async function checkDataDirectory({ dataDir, databaseUrl, token }: Config): Promise<[null, string]> {
  if (databaseUrl !== null && token !== null) return [null, 'not needed'];
  const found = await stat(dataDir).catch(() => null);
  if (found !== null && !found.isDirectory()) {
    throw new Error(`${dataDir} is not a folder: remove it, or set ACTA_DATA_DIR to a different path`);
  }
  if (found === null) {
    if ((await lstat(dataDir).catch(() => null)) !== null) {
      throw new Error(
        `${dataDir} is a link to a missing folder: create the folder, or set ACTA_DATA_DIR to a different path`,
      );
    }
    await checkCreatable(dataDir);
    return [null, `${dataDir} does not exist and can be created`];
  }
  await checkWritable(dataDir);
  if (process.platform !== 'win32' && (found.mode & 0o077) !== 0) {
    throw new Error(`${dataDir} contains secrets and other accounts can access it: run chmod 700 on it`);
  }
  return [null, dataDir];
}

/** Creates and removes a folder in the nearest existing parent. Permissions are not conclusive, for example below /proc. */
async function checkCreatable(folder: string): Promise<void> {
  let parent = dirname(folder);
  while (parent !== dirname(parent) && (await stat(parent).catch(() => null)) === null) parent = dirname(parent);
  await mkdtemp(join(parent, '.acta-doctor-')).then(rmdir, () => {
    throw new Error(
      `${folder} cannot be created: give this account write access to ${parent}, or set ACTA_DATA_DIR to a different path`,
    );
  });
}

async function checkWritable(folder: string): Promise<void> {
  await access(folder, constants.R_OK | constants.W_OK | constants.X_OK).catch(() => {
    throw new Error(
      `${folder} is not writable for this account: give it access, or set ACTA_DATA_DIR to a different path`,
    );
  });
}

async function connect({
  databaseUrl,
  ownerDatabaseUrl,
  dataDir,
  secretKey,
}: Config): Promise<[DatabaseConnection, string]> {
  const options = { databaseUrl, ownerDatabaseUrl, dataDir, secretKey };
  const connection = await connectToDatabase({ ...options, maxConnections: 2 });
  return [connection, 'accepts connections'];
}

async function checkVersion({ pool }: Database): Promise<[null, string]> {
  const { rows } = await pool.query<{ name: string }>(`select current_setting('server_version') as name`);
  // connectToDatabase has already rejected a version that is too old.
  return [null, `Postgres ${rows[0]!.name}`];
}

/** Returns which role the servers use, whether it owns the schema, and what is wrong with its rights. */
function checkRole({ role }: Pick<SchemaInspection, 'role'>): [null, string] {
  const { name, schema, isOwner, isSuperuser, missingRights, excessRights, canEveryoneCreate } = role;
  const problems = [
    ...(missingRights.length > 0 ? [`lacks ${missingRights.join(', ')}`] : []),
    ...(excessRights.length > 0 ? [`has more rights than it needs: ${excessRights.join(', ')}`] : []),
  ];
  if (problems.length > 0) {
    throw new Error(
      `${name} ${problems.join('; it ')}: run \`acta migrate --grant ${name}\` as the role that owns the schema (ACTA_OWNER_DATABASE_URL)`,
    );
  }
  if (canEveryoneCreate) {
    throw new Error(
      `every role can create objects in the schema ${schema}: run \`revoke create on schema ${schema} from public\``,
    );
  }
  if (isOwner === null) return [null, `${name}; there are no tables of Acta that it could use`];
  if (!isOwner) return [null, `${name}, which owns nothing and cannot change events`];
  const kind = isSuperuser ? 'a superuser' : 'the owner of the schema';
  return [null, `${name}, ${kind}, which can change events; \`acta migrate --grant ROLE\` sets up a role that cannot`];
}

function checkSchema({ state, problem }: SchemaInspection): [true, string] {
  if (problem !== null) throw new Error(problem);
  if (state?.kind === 'newer') return [true, `number ${state.number}, which a newer version of Acta has applied`];
  return [true, 'up to date'];
}

/** Compares the catalog, because somebody could have changed a table or disabled a trigger. */
async function checkTables(database: Database, { state }: SchemaInspection): Promise<[null, string]> {
  if (state?.kind !== 'current') return [null, 'not compared, because this version of Acta does not know them'];
  const difference = await differenceFromSnapshot(database.pool, await readSchemaDefinition());
  if (difference !== null) throw new Error(`differ from migrations/schema.sql: ${difference}`);
  return [null, 'as in migrations/schema.sql'];
}

async function checkSecret({ database, secret }: DatabaseConnection): Promise<[null, string]> {
  const { rows } = await database.pool.query<{ secret_fingerprint: string }>(
    'select secret_fingerprint from server_state',
  );
  const [state] = rows;
  if (state === undefined) return [null, 'no server has started on this database yet'];
  if (state.secret_fingerprint === secret.fingerprint()) return [null, 'matches the secret of the database'];
  throw new Error('the database was created with a different secret: set ACTA_SECRET_KEY to the original one');
}

/** Writes a row and rolls it back. */
async function checkWriteAccess(database: Database): Promise<[null, string]> {
  await database.transaction(async (executor) => {
    await executor.query('savepoint before_test');
    await executor.query(
      `insert into context (tenant_id, owner, context_id, ring) values ('acta-doctor', 'acta-doctor', gen_random_uuid()::text, '-')`,
    );
    await executor.query('rollback to savepoint before_test');
  });
  return [null, 'rows can be written'];
}
