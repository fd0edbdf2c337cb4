import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { Database } from '../../../libs/storage/src/postgres/database.js';
import { openEmbeddedPostgres } from '@app/embedded-postgres';
import { migrate } from '../../../libs/storage/src/postgres/migrate.js';

export interface TestDatabase {
  /** A value for `pg.Pool({ connectionString })` or for the `DATABASE_URL` of a process. */
  url: string;
  name: string;
  /** Drops the database and closes the remaining connections to it. */
  drop(): Promise<void>;
}

const TEMPLATE_LOCK = 0x41435454;

/** Creates a migrated, empty database. It is a clone of a template, which takes about 10 ms. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const server = await serverUrl();
  const template = `acta_test_${process.env['ACTA_TEST_RUN']}`;
  const name = `${template}_${randomBytes(6).toString('hex')}`;
  await asAdmin(server, async (client) => {
    await ensureTemplate(server, client, template);
    await client.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
  });
  const drop = () =>
    asAdmin(server, async (client) => void (await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)));
  return { url: urlOf(server, name), name, drop };
}

async function ensureTemplate(server: string, client: pg.Client, template: string): Promise<void> {
  await client.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]);
  try {
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [template]);
    if (rowCount === 1) return;
    const unfinished = `${template}_template`;
    await client.query(`DROP DATABASE IF EXISTS ${unfinished} WITH (FORCE)`);
    await client.query(`CREATE DATABASE ${unfinished}`);
    await prepareTemplate(urlOf(server, unfinished));
    await client.query(`ALTER DATABASE ${unfinished} RENAME TO ${template}`);
  } finally {
    await client.query('SELECT pg_advisory_unlock($1)', [TEMPLATE_LOCK]);
  }
}

async function prepareTemplate(url: string): Promise<void> {
  const database = new Database(url);
  await migrate(database).finally(() => database.close());
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
  const { url } = postgres;
  await postgres.detach();
  // Several callers, also in one process, may get here concurrently: each one writes its own file.
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  await writeFile(draft, url);
  await rename(draft, file);
  return url;
}

async function asAdmin<T>(server: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(server);
  await client.connect();
  return work(client).finally(() => client.end());
}

function urlOf(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.href;
}
