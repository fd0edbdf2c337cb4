import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openEmbeddedPostgres } from '@app/embedded-postgres';
import { Database, migrate } from '@app/storage';
import pg from 'pg';

export interface TestDatabase {
  /** The URL of the application role, which cannot change events: for `pg.Pool` or for the `DATABASE_URL` of a process. */
  url: string;
  /** The URL of the role that owns the schema, for tests that alter events, disable triggers or change tables. */
  ownerUrl: string;
  name: string;
  /** The name of the application role. */
  role: string;
  /** Runs one statement as the owner of the schema, on a connection of its own. */
  asOwner<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Drops the database and closes the remaining connections to it. */
  drop(): Promise<void>;
}

const TEMPLATE_LOCK = 0x41435454;

/** Creates a migrated database without rows. It is a clone of a template, which takes about 10 ms. */
export async function createTestDatabase(): Promise<TestDatabase> {
  return createDatabase(async (client, server, name) => {
    const template = await ensureTemplate(server, client);
    await client.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
  });
}

/** Creates a database without tables. The application role has no rights in it. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  return createDatabase(async (client, _server, name) => {
    await ensureApplicationRole(client);
    await client.query(`CREATE DATABASE ${name}`);
  });
}

async function createDatabase(
  create: (client: pg.Client, server: string, name: string) => Promise<void>,
): Promise<TestDatabase> {
  const server = await serverUrl();
  const name = `${namePrefix()}_${randomBytes(6).toString('hex')}`;
  await withClient(server, (client) => create(client, server, name));
  const drop = () =>
    withClient(server, async (client) => void (await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)));
  const ownerUrl = urlOf(server, name);
  const asOwner = <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) =>
    withClient(ownerUrl, async (client) => (await client.query<Row>(text, values)).rows);
  return { url: applicationUrlOf(ownerUrl), ownerUrl, name, role: applicationRole(), asOwner, drop };
}

async function ensureTemplate(server: string, client: pg.Client): Promise<string> {
  const template = namePrefix();
  await client.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]);
  try {
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [template]);
    if (rowCount === 1) return template;
    await ensureApplicationRole(client);
    const unfinished = `${template}_template`;
    await client.query(`DROP DATABASE IF EXISTS ${unfinished} WITH (FORCE)`);
    await client.query(`CREATE DATABASE ${unfinished}`);
    await prepareTemplate(urlOf(server, unfinished));
    await client.query(`ALTER DATABASE ${unfinished} RENAME TO ${template}`);
    return template;
  } finally {
    await client.query('SELECT pg_advisory_unlock($1)', [TEMPLATE_LOCK]);
  }
}

async function prepareTemplate(ownerUrl: string): Promise<void> {
  const database = new Database(ownerUrl);
  await migrate(database, { grantTo: applicationRole() }).finally(() => database.close());
}

/** Creates the application role of this run. The owner becomes a member of it, so that it can terminate its connections. */
async function ensureApplicationRole(client: pg.Client): Promise<void> {
  const role = applicationRole();
  const { rowCount } = await client.query('SELECT FROM pg_roles WHERE rolname = $1', [role]);
  if (rowCount === 1) return;
  await client
    .query(`CREATE ROLE ${role} LOGIN PASSWORD '${role}'; GRANT ${role} TO current_user`)
    .catch((error: { code?: string }) => {
      // A concurrent test has created it.
      if (error.code !== '42710' && error.code !== '23505') throw error;
    });
}

async function serverUrl(): Promise<string> {
  const { TEST_DATABASE_URL, ACTA_TEST_DATA_DIR } = process.env;
  if (TEST_DATABASE_URL !== undefined) return TEST_DATABASE_URL;
  if (ACTA_TEST_DATA_DIR === undefined)
    throw new Error(
      'ACTA_TEST_DATA_DIR is not set; call createTestDatabase() only in a Jest run, whose global setup sets it',
    );
  const file = join(ACTA_TEST_DATA_DIR, 'test-url');
  const known = await readFile(file, 'utf8').catch(() => undefined);
  if (known !== undefined) return known;
  // Later tests use the same server. The global teardown stops it.
  const postgres = await openEmbeddedPostgres(ACTA_TEST_DATA_DIR, {
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' },
  });
  const { ownerUrl } = postgres;
  await postgres.detach();
  // Several callers, also in one process, may get here concurrently: each one writes its own file.
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  await writeFile(draft, ownerUrl);
  await rename(draft, file);
  return ownerUrl;
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(url);
  await client.connect();
  return work(client).finally(() => client.end());
}

/** The names of the databases and of the application role of this run start with it. The global teardown removes both. */
const namePrefix = (): string => `acta_test_${process.env['ACTA_TEST_RUN']}`;

const applicationRole = (): string => `${namePrefix()}_app`;

function urlOf(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.href;
}

/** Replaces the user of a URL. The URL of a Unix socket has it in the query, because its host is empty. */
function applicationUrlOf(ownerUrl: string): string {
  const url = new URL(ownerUrl);
  const role = applicationRole();
  if (url.searchParams.has('user')) {
    url.searchParams.set('user', role);
    if (url.searchParams.has('password')) url.searchParams.set('password', role);
  } else {
    url.username = role;
    url.password = role;
  }
  return url.href;
}
