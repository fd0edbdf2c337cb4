import { execFile, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const LINUX = process.platform === 'linux';

export const here = (/** @type {string} */ file) => fileURLToPath(new URL(file, import.meta.url));

/** Runs a script of the bench in a process of its own, and gives the JSON that it prints. */
export async function measure(/** @type {string} */ script, /** @type {object} */ input) {
  const { stdout } = await run(process.execPath, [here(script), JSON.stringify(input)], { maxBuffer: 1 << 26 });
  return JSON.parse(stdout);
}

/**
 * Starts a server and waits for the line of its output that has its URL.
 *
 * @param {string[]} args of Node
 * @param {Record<string, string>} env beside what Node itself needs
 * @returns {Promise<{ url: string, pid: number, stop(): Promise<void> }>}
 */
export async function startServer(args, env) {
  const { said, ...process } = await start(args, env, /http:\/\/[\w.:]+/);
  return { url: said, ...process };
}

/** Starts a process and waits for what its output must have. */
async function start(
  /** @type {string[]} */ args,
  /** @type {Record<string, string>} */ env,
  /** @type {RegExp} */ announcement,
) {
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH, NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const takeAlong = () => child.kill();
  process.once('exit', takeAlong);
  /** @type {string} */
  const said = await new Promise((resolve, reject) => {
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
      const found = announcement.exec(output);
      if (found !== null) resolve(found[0]);
    });
    child.once('exit', (code) => reject(new Error(`${args.join(' ')} ended with ${code} before it was ready`)));
  });
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
    process.off('exit', takeAlong);
  };
  return { said, pid: /** @type {number} */ (child.pid), stop };
}

/** Starts a process that runs agents and listens nowhere. */
export const startWorker = (/** @type {Record<string, string>} */ env) =>
  start([here('../../dist/apps/worker/src/main.js')], env, /^Acta worker/m);

/** Resident memory of a process in bytes. */
export async function residentBytes(/** @type {number} */ pid) {
  if (LINUX) return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
  return Number((await run('ps', ['-o', 'rss=', '-p', String(pid)])).stdout) * 1024;
}

/** Milliseconds of CPU that a process has used; null where the system does not tell exactly. */
export function cpuMs(/** @type {number} */ pid) {
  const stat = statOf(pid);
  return stat === null ? null : (stat.own * 1000) / TICKS;
}

/** The same for a whole Postgres on this machine: the postmaster, its backends, and those that have ended. */
export function postgresCpuMs(/** @type {number | null} */ postmaster) {
  const parent = postmaster === null ? null : statOf(postmaster);
  if (parent === null) return null;
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => statOf(Number(name)))
    .filter((stat) => stat?.parent === postmaster);
  return (children.reduce((sum, stat) => sum + (stat?.own ?? 0), parent.own + parent.ended) * 1000) / TICKS;
}

/** The postmaster of a backend; null when the database is on another machine. */
export function postmasterOf(/** @type {number} */ backend) {
  const stat = statOf(backend);
  return stat !== null && stat.name === 'postgres' ? stat.parent : null;
}

/** USER_HZ, which Linux fixes for everything that it shows to programs. */
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
