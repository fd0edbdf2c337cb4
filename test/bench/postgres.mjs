import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { openEmbeddedPostgres } from '../../dist/libs/embedded-postgres/src/index.js';
import { postmasterOf } from './processes.mjs';

/**
 * Opens the Postgres server that all peers share: the embedded one in a temporary directory with its default settings (fsync
 * on), or the one of BENCH_DATABASE_URL.
 *
 * @returns {Promise<{ about: string, postmaster: number | null, database(name: string): Promise<string>, analyze(): Promise<void>, close(): Promise<void> }>}
 */
export async function openPostgres() {
  const url = process.env.BENCH_DATABASE_URL;
  if (url !== undefined) return openCluster(url, async () => undefined);
  const directory = await mkdtemp(join(tmpdir(), 'acta-bench-'));
  const postgres = await openEmbeddedPostgres(directory);
  return openCluster(postgres.ownerUrl, async () => {
    await postgres.close();
    await rm(directory, { recursive: true, force: true });
  });
}

async function openCluster(/** @type {string} */ server, /** @type {() => Promise<void>} */ close) {
  const admin = new pg.Client(server);
  await admin.connect();
  const { rows } = await admin.query(`select pg_backend_pid() as pid, current_setting('server_version') as version,
    current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit`);
  const { pid, version, fsync, commit } = rows[0];
  /** @type {Map<string, string>} */
  const created = new Map();
  const end = async () => {
    for (const name of created.keys()) await admin.query(`drop database if exists ${name} with (force)`);
    await admin.end();
    await close();
  };
  /** @type {Promise<void> | undefined} */
  let closing;
  return {
    about: `Postgres ${version}, fsync ${fsync}, synchronous_commit ${commit}`,
    postmaster: postmasterOf(pid),
    /** Creates an empty database and returns its URL. */
    async database(/** @type {string} */ name) {
      const unique = `acta_bench_${name}_${process.pid}`;
      await admin.query(`create database ${unique}`);
      const url = new URL(server);
      url.pathname = `/${unique}`;
      created.set(unique, url.href);
      return url.href;
    },
    /**
     * Updates the planner's statistics, as autovacuum does within minutes. Before that, the planner assumes that new tables
     * are empty, which can slow a peer down (the SDK's server to a third of its throughput).
     */
    async analyze() {
      for (const url of created.values()) {
        const client = new pg.Client(url);
        await client.connect();
        await client.query('analyze');
        await client.end();
      }
    },
    close: () => (closing ??= end()),
  };
}
