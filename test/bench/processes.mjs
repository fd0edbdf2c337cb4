import { execFile, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const LINUX = process.platform === 'linux';

/** Returns the absolute path of a file, given relative to the folder of the bench. */
export const benchFile = (/** @type {string} */ file) => fileURLToPath(new URL(file, import.meta.url));

/** Runs a script of the bench in its own process and returns the JSON that it prints. */
export async function measure(/** @type {string} */ script, /** @type {object} */ input) {
  const { stdout } = await run(process.execPath, [benchFile(script), JSON.stringify(input)], { maxBuffer: 1 << 26 });
  return JSON.parse(stdout);
}

/**
 * Starts a server and waits until it prints its URL.
 *
 * @param {string[]} args of Node
 * @param {Record<string, string>} env added to what Node needs
 * @returns {Promise<{ url: string, pid: number, stop(): Promise<void> }>}
 */
export async function startServer(args, env) {
  const { output, ...process } = await start(args, env, /http:\/\/[\w.:]+/);
  return { url: output, ...process };
}

/** Starts a process and waits until its output matches. */
async function start(
  /** @type {string[]} */ args,
  /** @type {Record<string, string>} */ env,
  /** @type {RegExp} */ readyLine,
) {
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH, NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const killChild = () => child.kill();
  process.once('exit', killChild);
  /** @type {string} */
  const output = await new Promise((resolve, reject) => {
    let printed = '';
    child.stdout.on('data', (chunk) => {
      printed += chunk;
      const match = readyLine.exec(printed);
      if (match !== null) resolve(match[0]);
    });
    child.once('exit', (code) => reject(new Error(`${args.join(' ')} exited with code ${code} before it was ready`)));
  });
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
    process.off('exit', killChild);
  };
  return { output, pid: /** @type {number} */ (child.pid), stop };
}

/** Starts a worker process, which runs agents and has no HTTP server. */
export const startWorker = (/** @type {Record<string, string>} */ env) =>
  start([benchFile('../../dist/apps/worker/src/main.js')], env, /^Acta worker/m);

/** Returns the resident memory of a process in bytes. */
export async function residentBytes(/** @type {number} */ pid) {
  if (LINUX) return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
  return Number((await run('ps', ['-o', 'rss=', '-p', String(pid)])).stdout) * 1024;
}

/** Returns the CPU time of a process in milliseconds; null on a system without /proc. */
export function cpuMs(/** @type {number} */ pid) {
  const stat = statOf(pid);
  return stat === null ? null : (stat.own * 1000) / TICKS;
}

/** Returns the CPU time of a Postgres server on this machine: the postmaster, its backends and its ended backends. */
export function postgresCpuMs(/** @type {number | null} */ postmaster) {
  const parent = postmaster === null ? null : statOf(postmaster);
  if (parent === null) return null;
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => statOf(Number(name)))
    .filter((stat) => stat?.parent === postmaster);
  return (children.reduce((sum, stat) => sum + (stat?.own ?? 0), parent.own + parent.ended) * 1000) / TICKS;
}

/** Returns the process id of a backend's postmaster; null when the database is on a different machine. */
export function postmasterOf(/** @type {number} */ backend) {
  const stat = statOf(backend);
  return stat !== null && stat.name === 'postgres' ? stat.parent : null;
}

/** USER_HZ: the clock ticks per second in /proc, which are constant on Linux. */
const TICKS = 100;

function statOf(/** @type {number} */ pid) {
  if (!LINUX) return null;
  try {
    const [, name = '', rest = ''] = /^\d+ \((.*)\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    const fields = rest.split(' ').map(Number);
    const [own, ended] = [fields[11] + fields[12], fields[13] + fields[14]];
    return { name, parent: fields[1], own, ended };
  } catch {
    return null;
  }
}
