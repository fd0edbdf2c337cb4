import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cpuMs, here, measure, postgresCpuMs, startServer, startWorker } from '../processes.mjs';

const run = promisify(execFile);
const CONNECTIONS = 16;

/** @typedef {{ warmUpMs: number, forMs: number }} Span */

/** Acta as it comes: demo agent, default settings, content encryption and hashing on. */
export async function startActa(
  /** @type {string} */ databaseUrl,
  /** @type {Record<string, string>} */ env = {},
  args = [],
) {
  const token = randomBytes(32).toString('hex');
  const server = await startServer([...args, here('../../dist/apps/server/src/main.js')], {
    PORT: '0',
    ACTA_TOKEN: token,
    ...environmentOf(databaseUrl),
    ...env,
  });
  return { ...server, url: `${server.url}/a2a`, headers: { Authorization: `Bearer ${token}` } };
}

/** A process of Acta beside that server, which runs agents and serves nothing. */
export const startActaWorker = (/** @type {string} */ databaseUrl, /** @type {Record<string, string>} */ env = {}) =>
  startWorker({ ...environmentOf(databaseUrl), ...env });

const environmentOf = (/** @type {string} */ databaseUrl) => ({
  DATABASE_URL: databaseUrl,
  ACTA_DATA_DIR: here('../../.acta'),
  ACTA_SECRET_KEY: SECRET,
  LOG_LEVEL: 'warn',
});

/** One for all servers of a run: a database belongs to one secret. */
export const SECRET = randomBytes(32).toString('base64');

/** The official SDK's server, its tables made by its own tool. */
export async function startSdk(/** @type {string} */ databaseUrl) {
  const tool = join(dirname(fileURLToPath(import.meta.resolve('@a2a-js/sdk'))), 'cli', 'a2a_db.js');
  await run(process.execPath, [tool, 'upgrade', '--url', databaseUrl]);
  const server = await startServer([here('sdk-server.mjs')], { DATABASE_URL: databaseUrl });
  return { ...server, url: `${server.url}/`, headers: {} };
}

export const rawInserts = (/** @type {string} */ url, /** @type {Span} */ span) =>
  measure('raw-inserts.mjs', { url, connections: CONNECTIONS, ...span });

/** Loads a server, and says what each of its answers cost in CPU there and in Postgres. */
export async function load(
  /** @type {{ url: string, pid: number, headers: object }} */ { url, pid, headers },
  /** @type {Span} */ span,
  /** @type {number | null} */ postmaster,
) {
  const before = { server: cpuMs(pid), postgres: postgresCpuMs(postmaster) };
  const result = await measure('load.mjs', { url, headers, connections: CONNECTIONS, ...span });
  const each = (/** @type {number | null} */ from, /** @type {number | null} */ to) =>
    from === null || to === null ? null : (to - from) / result.answered;
  return {
    ...result,
    serverCpuMs: each(before.server, cpuMs(pid)),
    postgresCpuMs: each(before.postgres, postgresCpuMs(postmaster)),
  };
}
