import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The folder of the installed packages. It is outside the repository, whose folders the tests check. */
export const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'acta-interop');

/** A program that is missing or has failed. Its message is one line. */
export class InstallationError extends Error {}

/** Installs into a folder, unless an earlier installation into it was complete. */
export async function installOnce(/** @type {string} */ home, /** @type {() => Promise<void>} */ install) {
  if (existsSync(join(home, 'complete'))) return;
  await rm(home, { recursive: true, force: true });
  await mkdir(home, { recursive: true });
  await install();
  await writeFile(join(home, 'complete'), '');
}

/** Copies sources over an earlier copy, whose build stays. Returns the copy. */
export async function copyFolder(/** @type {string} */ source, /** @type {string} */ target) {
  await cp(source, target, { recursive: true });
  return target;
}

/** Runs a program. Errors: InstallationError. */
export async function run(
  /** @type {string} */ program,
  /** @type {string[]} */ args,
  /** @type {string} */ cwd = '.',
) {
  let output = '';
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const code = await new Promise((resolve, reject) => {
    child.once('close', resolve).once('error', () => reject(new InstallationError(`${program} is not installed`)));
  });
  if (code === 0) return;
  const lines = output.split('\n').map((line) => line.trim());
  const reason = lines.find((line) => /error/i.test(line)) ?? lines.findLast((line) => line !== '') ?? '';
  throw new InstallationError(`${program} exited with code ${code} (${reason.slice(0, 300)})`);
}
