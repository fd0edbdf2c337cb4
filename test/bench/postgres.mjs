import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { openEmbeddedPostgres } from '../../dist/libs/embedded-postgres/src/index.js';
import { postmasterOf } from './processes.mjs';

/**
 * One Postgres for every peer: the embedded one on a scratch directory with its settings as they are (fsync on), or the
 * one of BENCH_DATABASE_URL.
 *
 * @returns {Promise<{ about: string, postmaster: number | null, database(name: string): Promise<string>, analyze(): Promise<void>, close(): Promise<void> }>}
 */
export async function openPostgres() {
  const given = process.env.BENCH_DATABASE_URL;
  if (given !== undefined) return clusterAt(given, async () => undefined);
  const directory = await mkdtemp(join(tmpdir(), 'acta-bench-'));
  const postgres = await openEmbeddedPostgres(directory);
  return clusterAt(postgres.url, async () => {
    await postgres.close();
    await rm(directory, { recursive: true, force: true });
  });
}

async function clusterAt(/** @type {string} */ server, /** @type {() => Promise<void>} */ close) {
  const admin = new pg.Client(server);
  await admin.connect();
  const { rows } = await admin.query(`select pg_backend_pid() as pid, current_setting('server_version') as version,
    current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit`);
  const { pid, version, fsync, commit } = rows[0];
  /** @type {Map<string, string>} */
  const made = new Map();
  const end = async () => {
    for (const name of made.keys()) await admin.query(`drop database if exists ${name} with (force)`);
    await admin.end();
    await close();
  };
  /** @type {Promise<void> | undefined} */
  let closing;
  return {
    about: `Postgres ${version}, fsync ${fsync}, synchronous_commit ${commit}`,
    postmaster: postmasterOf(pid),
    /** A new, empty database; its URL. */
    async database(/** @type {string} */ name) {
      const unique = `acta_bench_${name}_${process.pid}`;
      await admin.query(`create database ${unique}`);
      const url = new URL(server);
      url.pathname = `/${unique}`;
      made.set(unique, url.href);
      return url.href;
    },
    /**
     * Tells the planner how large the tables have become, as autovacuum does within minutes. Until then it takes them
     * for empty, and a peer can be slow (the SDK's server down to a third) for no reason of its own.
     */
    async analyze() {
      for (const url of made.values()) {
        const client = new pg.Client(url);
        await client.connect();
        await client.query('analyze');
        await client.end();
      }
    },
    close: () => (closing ??= end()),
  };
}
