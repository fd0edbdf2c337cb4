import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { constants, type FileHandle, open, readFile, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Binaries } from './binaries.js';
import { EmbeddedPostgresError, hasCode } from './embedded-postgres-error.js';
import { type Place, SOCKET_PORT, socketDirectory } from './cluster-location.js';
import type { Address } from './presence.js';

const run = promisify(execFile);
const POLL_MS = 20;
const STOP_MS = 60_000;
// Between its creation and its first lines there is an instant.
const EMPTY_MS = 2_000;
const LOG_BYTES = 8 * 1024 * 1024;

/** What a postmaster writes about itself into its cluster (`postmaster.pid`). */
export interface Postmaster {
  pid: number;
  cluster: string;
  /** Undefined in its first moments, before it listens. */
  address?: Address;
}

export async function readPostmaster(place: Place): Promise<Postmaster | undefined> {
  let text: string;
  try {
    text = await readFile(pidFile(place), 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
  const [pid, cluster, , port, socketDir, listenHost] = text.split('\n');
  if (!pid || !cluster) return undefined;
  const host = process.platform === 'win32' ? listenHost?.trim() : socketDir;
  return {
    pid: Number(pid),
    cluster,
    address: host ? { host, port: Number(port), password: place.password } : undefined,
  };
}

/**
 * Whether the process of a pid file is that postmaster. After a crash the number may belong to anything, in a container
 * even to the next process that Acta starts; and a zombie still has a number, but no command line.
 */
export async function isRunning({ pid, cluster }: Postmaster): Promise<boolean> {
  if (!exists(pid)) return false;
  if (process.platform === 'win32') return true;
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(async (error: unknown) => {
    if (hasCode(error, 'ESRCH')) return '';
    if (process.platform === 'linux') return hasCode(error, 'ENOENT') ? '' : cluster;
    return (await run('ps', ['-ww', '-o', 'command=', '-p', String(pid)]).catch(() => ({ stdout: '' }))).stdout;
  });
  return command.includes(cluster);
}

/**
 * Removes a pid file that Postgres takes for another postmaster's although it is none: one whose number is in use again, or
 * that a crash of the machine left empty. In all other cases Postgres does this itself, and better: it also sees
 * whether old backends are still about.
 */
export async function clearStalePid(place: Place, stale: Postmaster | undefined): Promise<void> {
  const written = await stat(pidFile(place)).catch(() => undefined);
  if (!written) return;
  const now = await readPostmaster(place);
  const unusable = now === undefined && Date.now() - written.mtimeMs > EMPTY_MS;
  if (unusable || (now && now.pid === stale?.pid && exists(now.pid))) await rm(pidFile(place), { force: true });
}

export interface Launch {
  pid: number | undefined;
  /** Why the process has ended; undefined while it runs. */
  failure(): Promise<string | undefined>;
}

/** Starts a postmaster, which outlives this process. Resolves before it accepts connections. */
export async function launch(place: Place, binaries: Binaries, settings: Record<string, string>): Promise<Launch> {
  const log = await openLog(place.logFile);
  const { size: start } = await log.stat();
  const all = { ...(await listenSettings(place)), ...QUIET, ...settings };
  const args = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  let ended: string | undefined;
  let child: ChildProcess;
  try {
    child = spawn(binaries.postgres, ['-D', place.cluster, ...args], {
      ...processOptions(place),
      stdio: ['ignore', log.fd, log.fd],
      // Of its own session, so that Ctrl-C in a terminal reaches this process alone, which stops Postgres last.
      detached: true,
      windowsHide: true,
    });
    child.once('error', (error) => (ended = error.message));
    child.once('exit', (code, signal) => (ended ??= `it ended with ${signal ?? `exit code ${code}`}`));
    child.unref();
  } finally {
    await log.close();
  }
  return {
    pid: child.pid,
    failure: async () => (ended === undefined ? undefined : ((await lastComplaint(place.logFile, start)) ?? ended)),
  };
}

/** Asks for a fast shutdown (sessions end, everything is flushed) and waits until it is done. */
export async function stop(place: Place, binaries: () => Promise<Binaries>): Promise<void> {
  const postmaster = await readPostmaster(place);
  // Not there, or in a container of its own with numbers of its own.
  if (!postmaster || !(await isRunning(postmaster))) return;
  if (process.platform === 'win32') {
    await run((await binaries()).pgCtl, ['stop', '-m', 'fast', '-D', place.cluster]);
    return;
  }
  process.kill(postmaster.pid, 'SIGINT');
  const deadline = Date.now() + STOP_MS;
  while ((await readPostmaster(place))?.pid === postmaster.pid && (await isRunning(postmaster))) {
    if (Date.now() > deadline) {
      throw new EmbeddedPostgresError(
        `The embedded Postgres (process ${postmaster.pid}) did not stop within ${STOP_MS / 1000} s; it is left to finish.`,
      );
    }
    await delay(POLL_MS);
  }
}

/** For every program of Postgres: its account, and an environment without the secrets of this process. */
export function processOptions(place: Place): { cwd: string; env: NodeJS.ProcessEnv; uid?: number; gid?: number } {
  const { PATH, SystemRoot, TEMP, TMP } = process.env;
  const windows = process.platform === 'win32' ? { SystemRoot, TEMP, TMP } : {};
  return {
    cwd: process.platform === 'win32' ? place.home : '/',
    env: { PATH, LC_ALL: 'C', TZ: 'UTC', ...windows },
    ...place.account,
  };
}

// Errors go to the client that made them; their texts, and the statements, can hold content, which no log may.
const QUIET = {
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
};

async function listenSettings(place: Place): Promise<Record<string, string>> {
  if (process.platform === 'win32') {
    return { listen_addresses: '127.0.0.1', port: String(await freePort()), unix_socket_directories: '' };
  }
  const directory = await socketDirectory(place);
  return {
    listen_addresses: '',
    port: String(SOCKET_PORT),
    unix_socket_permissions: '0700',
    // A list of directories, in which quotes protect a comma.
    unix_socket_directories: `"${directory.replaceAll('"', '""')}"`,
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : SOCKET_PORT;
}

async function openLog(path: string): Promise<FileHandle> {
  const { O_APPEND, O_CREAT, O_WRONLY, O_NOFOLLOW } = constants;
  // Not through a link: the folder can belong to Postgres' account, which must not lead root to another file.
  const log = await open(path, O_APPEND | O_CREAT | O_WRONLY | O_NOFOLLOW, 0o600);
  if ((await log.stat()).size > LOG_BYTES) await log.truncate();
  return log;
}

async function lastComplaint(logFile: string, start: number): Promise<string | undefined> {
  const written = (await readFile(logFile)).subarray(start).toString('utf8').trim();
  const lines = written.split('\n').filter((line) => line !== '');
  return lines.findLast((line) => /(FATAL|PANIC|ERROR):/.test(line)) ?? lines.at(-1);
}

const pidFile = (place: Place): string => join(place.cluster, 'postmaster.pid');

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return !hasCode(error, 'ESRCH');
  }
}
