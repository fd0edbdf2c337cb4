import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { benchFile, cpuMs, measure, postgresCpuMs, startServer, startWorker } from '../processes.mjs';

const run = promisify(execFile);
const CONNECTIONS = 16;

/** @typedef {{ warmUpMs: number, forMs: number }} Span */

/** Starts Acta with the demo agent and default settings, which include content encryption and hashing. */
export async function startActa(
  /** @type {string} */ databaseUrl,
  /** @type {Record<string, string>} */ env = {},
  args = [],
) {
  const token = randomBytes(32).toString('hex');
  const server = await startServer([...args, benchFile('../../dist/apps/server/src/main.js')], {
    PORT: '0',
    ACTA_TOKEN: token,
    ...environmentOf(databaseUrl),
    ...env,
  });
  return { ...server, url: `${server.url}/a2a`, headers: { Authorization: `Bearer ${token}` } };
}

/** Starts a worker on the database of that server. */
export const startActaWorker = (/** @type {string} */ databaseUrl, /** @type {Record<string, string>} */ env = {}) =>
  startWorker({ ...environmentOf(databaseUrl), ...env });

const environmentOf = (/** @type {string} */ databaseUrl) => ({
  DATABASE_URL: databaseUrl,
  ACTA_DATA_DIR: benchFile('../../.acta'),
  ACTA_SECRET_KEY: SECRET,
  LOG_LEVEL: 'warn',
});

/** The secret of all servers of a run, because a database belongs to one secret. */
export const SECRET = randomBytes(32).toString('base64');

/** Starts the server of the official SDK. The SDK's own tool creates its tables. */
export async function startSdk(/** @type {string} */ databaseUrl) {
  const tool = join(dirname(fileURLToPath(import.meta.resolve('@a2a-js/sdk'))), 'cli', 'a2a_db.js');
  await run(process.execPath, [tool, 'upgrade', '--url', databaseUrl]);
  const server = await startServer([benchFile('peers/sdk-server.mjs')], { DATABASE_URL: databaseUrl });
  return { ...server, url: `${server.url}/`, headers: {} };
}

export const rawInserts = (/** @type {string} */ url, /** @type {Span} */ span) =>
  measure('phases/raw-inserts.mjs', { url, connections: CONNECTIONS, ...span });

/** Puts load on a server, and measures the CPU time per response of the server and of Postgres. */
export async function load(
  /** @type {{ url: string, pid: number, headers: object }} */ { url, pid, headers },
  /** @type {Span} */ span,
  /** @type {number | null} */ postmaster,
) {
  const before = { server: cpuMs(pid), postgres: postgresCpuMs(postmaster) };
  const result = await measure('load/load.mjs', { url, headers, connections: CONNECTIONS, ...span });
  const perResponse = (/** @type {number | null} */ from, /** @type {number | null} */ to) =>
    from === null || to === null ? null : (to - from) / result.responses;
  return {
    ...result,
    serverCpuMs: perResponse(before.server, cpuMs(pid)),
    postgresCpuMs: perResponse(before.postgres, postgresCpuMs(postmaster)),
  };
}
