import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const SERVER = fileURLToPath(new URL('../../../dist/apps/server/src/main.js', import.meta.url));

/**
 * Starts the built server on a free port, and waits until it listens. Its settings are those of `env` only.
 *
 * @param {Record<string, string>} env
 */
export async function startBuiltServer(env) {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(ACTA_.*|DATABASE_URL|HOST|PORT|LOG_LEVEL)$/.test(name),
  );
  const child = spawn(process.execPath, [SERVER], {
    env: { ...Object.fromEntries(inherited), PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  /** @type {string} */
  const url = await new Promise((resolve, reject) => {
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      output += text;
      const match = /^Acta listens on (\S+)$/m.exec(output);
      if (match !== null) resolve(match[1]);
    });
    child.once('exit', (code) => reject(new Error(`the server exited with code ${code} before it listened`)));
  });
  const stop = async () => {
    child.kill('SIGTERM');
    await exitOf(child);
  };
  return { url, stop };
}

/** Waits until a process has exited. */
export function exitOf(/** @type {import('node:child_process').ChildProcess} */ child) {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve, reject) => child.once('exit', resolve).once('error', reject));
}
