import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { constants, type FileHandle, open, readFile, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Binaries } from './binaries.js';
import { type ClusterLocation, SOCKET_PORT, socketDirectory } from './cluster-location.js';
import type { PostmasterAddress } from './cluster-session.js';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import { hasErrorCode } from './error-code.js';

const run = promisify(execFile);
const POLL_MS = 20;
const STOP_TIMEOUT_MS = 60_000;
// Postgres creates the file and writes its first lines a moment later.
const EMPTY_PID_FILE_MS = 2_000;
const MAX_LOG_BYTES = 8 * 1024 * 1024;

/** The content of `postmaster.pid`, which a postmaster writes into its cluster. */
export interface Postmaster {
  pid: number;
  cluster: string;
  /** Undefined until the postmaster listens. */
  address?: PostmasterAddress;
}

/** Reads the pid file of the cluster; undefined when it is missing or still empty. */
export async function readPostmaster(location: ClusterLocation): Promise<Postmaster | undefined> {
  let text: string;
  try {
    text = await readFile(pidFile(location), 'utf8');
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
  const [pid, cluster, , port, socketDir, listenHost] = text.split('\n');
  if (!pid || !cluster) return undefined;
  const host = process.platform === 'win32' ? listenHost?.trim() : socketDir;
  return {
    pid: Number(pid),
    cluster,
    address: host ? { host, port: Number(port), password: location.password } : undefined,
  };
}

/**
 * Returns whether the process of a pid file is the postmaster, by its command line. After a crash the system may assign the
 * pid to a different process, in a container even to the next one that Acta starts. A zombie has a pid and no command line.
 */
export async function isRunning({ pid, cluster }: Postmaster): Promise<boolean> {
  if (!processExists(pid)) return false;
  if (process.platform === 'win32') return true;
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(async (error: unknown) => {
    if (hasErrorCode(error, 'ESRCH')) return '';
    if (process.platform === 'linux') return hasErrorCode(error, 'ENOENT') ? '' : cluster;
    return (await run('ps', ['-ww', '-o', 'command=', '-p', String(pid)]).catch(() => ({ stdout: '' }))).stdout;
  });
  return command.includes(cluster);
}

/**
 * Removes a stale pid file that Postgres would respect: its pid belongs to a different process now, or a crash of the machine
 * left it empty. In all other cases Postgres removes the file itself, after it has checked that no old backend still runs.
 */
export async function removeStalePidFile(location: ClusterLocation, stale: Postmaster | undefined): Promise<void> {
  const written = await stat(pidFile(location)).catch(() => undefined);
  if (!written) return;
  const current = await readPostmaster(location);
  const leftEmpty = current === undefined && Date.now() - written.mtimeMs > EMPTY_PID_FILE_MS;
  if (leftEmpty || (current && current.pid === stale?.pid && processExists(current.pid)))
    await rm(pidFile(location), { force: true });
}

export interface LaunchedPostmaster {
  pid: number | undefined;
  /** Returns why the process has ended; undefined while it runs. */
  failure(): Promise<string | undefined>;
}

/** Starts a postmaster, which continues to run after this process. Resolves before it accepts connections. */
export async function launchPostmaster(
  location: ClusterLocation,
  binaries: Binaries,
  settings: Record<string, string>,
): Promise<LaunchedPostmaster> {
  const log = await openLog(location.logFile);
  const { size: start } = await log.stat();
  const all = { ...(await listenSettings(location)), ...LOG_SETTINGS, ...settings };
  const args = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  let exitReason: string | undefined;
  let child: ChildProcess;
  try {
    child = spawn(binaries.postgres, ['-D', location.cluster, ...args], {
      ...processOptions(location),
      stdio: ['ignore', log.fd, log.fd],
      // In a separate session, so that Ctrl-C in a terminal reaches only this process, which stops Postgres last.
      detached: true,
      windowsHide: true,
    });
    child.once('error', (error) => (exitReason = error.message));
    child.once('exit', (code, signal) => (exitReason ??= `the process ended with ${signal ?? `exit code ${code}`}`));
    child.unref();
  } finally {
    await log.close();
  }
  return {
    pid: child.pid,
    failure: async () =>
      exitReason === undefined ? undefined : ((await lastErrorLine(location.logFile, start)) ?? exitReason),
  };
}

/** Requests a fast shutdown, which ends all sessions and flushes all data, and waits until it is complete. */
export async function stopPostmaster(location: ClusterLocation, binaries: () => Promise<Binaries>): Promise<void> {
  const postmaster = await readPostmaster(location);
  // The postmaster has ended, or runs in a different container, whose pids mean nothing here.
  if (!postmaster || !(await isRunning(postmaster))) return;
  if (process.platform === 'win32') {
    await run((await binaries()).pgCtl, ['stop', '-m', 'fast', '-D', location.cluster]);
    return;
  }
  process.kill(postmaster.pid, 'SIGINT');
  const deadline = Date.now() + STOP_TIMEOUT_MS;
  while ((await readPostmaster(location))?.pid === postmaster.pid && (await isRunning(postmaster))) {
    if (Date.now() > deadline) {
      throw new EmbeddedPostgresError(
        `The embedded Postgres (process ${postmaster.pid}) did not stop within ${STOP_TIMEOUT_MS / 1000} s; it continues to shut down.`,
      );
    }
    await delay(POLL_MS);
  }
}

/** Returns the spawn options of every Postgres program: its account, and an environment without the secrets of this process. */
export function processOptions(location: ClusterLocation): {
  cwd: string;
  env: NodeJS.ProcessEnv;
  uid?: number;
  gid?: number;
} {
  const { PATH, SystemRoot, TEMP, TMP } = process.env;
  const windows = process.platform === 'win32' ? { SystemRoot, TEMP, TMP } : {};
  return {
    cwd: process.platform === 'win32' ? location.home : '/',
    env: { PATH, LC_ALL: 'C', TZ: 'UTC', ...windows },
    ...location.account,
  };
}

// The texts of errors and statements can contain task content, which must not reach a log. Clients receive the errors.
const LOG_SETTINGS = {
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
};

async function listenSettings(location: ClusterLocation): Promise<Record<string, string>> {
  if (process.platform === 'win32') {
    return { listen_addresses: '127.0.0.1', port: String(await freePort()), unix_socket_directories: '' };
  }
  const directory = await socketDirectory(location);
  return {
    listen_addresses: '',
    port: String(SOCKET_PORT),
    unix_socket_permissions: '0700',
    // The setting is a list of directories, so a path with a comma needs quotes.
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
  // The folder can belong to the account of Postgres, which must not redirect root to a different file with a link.
  const log = await open(path, O_APPEND | O_CREAT | O_WRONLY | O_NOFOLLOW, 0o600);
  if ((await log.stat()).size > MAX_LOG_BYTES) await log.truncate();
  return log;
}

async function lastErrorLine(logFile: string, start: number): Promise<string | undefined> {
  const written = (await readFile(logFile)).subarray(start).toString('utf8').trim();
  const lines = written.split('\n').filter((line) => line !== '');
  return lines.findLast((line) => /(FATAL|PANIC|ERROR):/.test(line)) ?? lines.at(-1);
}

const pidFile = (location: ClusterLocation): string => join(location.cluster, 'postmaster.pid');

function processExists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return !hasErrorCode(error, 'ESRCH');
  }
}
