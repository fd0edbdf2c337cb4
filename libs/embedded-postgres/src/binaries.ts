import { execFile } from 'node:child_process';
import { cp, lstat, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, extname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import type { Account } from './account.js';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import { hasErrorCode } from './error-code.js';

const run = promisify(execFile);
const suffix = process.platform === 'win32' ? '.exe' : '';
// The account may be unable to enter the current folder.
const WORKING_FOLDER = process.platform === 'win32' ? undefined : '/';

export interface Binaries {
  initdb: string;
  postgres: string;
  pgCtl: string;
  major: number;
}

/**
 * Finds the Postgres binaries of the platform's npm package and makes them executable for the account: creates the symbolic
 * links that a blocked postinstall script left out, and copies the binaries into `cacheDir` when the account cannot
 * execute the installed ones.
 *
 * @throws EmbeddedPostgresError when the package is missing or does not run on this system
 */
export async function findBinaries(cacheDir: string, account?: Account): Promise<Binaries> {
  const { root, name, version } = await findPackage();
  const installed = binariesIn(join(root, 'native'), version);
  await linkLibraries(root).catch((error: unknown) => {
    if (!hasErrorCode(error, 'EACCES', 'EPERM', 'EROFS')) throw error;
  });
  if ((await executionFailure(installed, account)) === undefined) return installed;
  const copy = join(cacheDir, `postgres-binaries-${version}`);
  await copyPackage(root, copy);
  const copied = binariesIn(join(copy, 'native'), version);
  const failure = await executionFailure(copied, account);
  if (failure === undefined) return copied;
  throw new EmbeddedPostgresError(
    `The Postgres binaries of the npm package ${name} do not run on this system (${failure}): set DATABASE_URL to use a Postgres server instead.`,
  );
}

async function findPackage(): Promise<{ root: string; name: string; version: string }> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const root = dirname(dirname(createRequire(import.meta.url).resolve(name)));
    const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
    return { root, name, version: manifest.version };
  } catch {
    throw new EmbeddedPostgresError(
      `The embedded Postgres needs the npm package ${name}, which is not installed: install it, or set DATABASE_URL to use a Postgres server instead.`,
    );
  }
}

function binariesIn(folder: string, version: string): Binaries {
  const program = (name: string): string => join(folder, 'bin', name + suffix);
  return {
    initdb: program('initdb'),
    postgres: program('postgres'),
    pgCtl: program('pg_ctl'),
    major: parseInt(version, 10),
  };
}

// npm packages cannot contain symbolic links; the package lists them in a file for its postinstall script.
async function linkLibraries(root: string): Promise<void> {
  const listed = await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(listed) as { source: string; target: string }[]) {
    const link = join(root, target);
    if (await lstat(link).catch(() => undefined)) continue;
    await symlink(relative(dirname(target), source), link).catch((error: unknown) => {
      if (!hasErrorCode(error, 'EEXIST')) throw error;
    });
  }
}

async function copyPackage(root: string, copy: string): Promise<void> {
  if (await lstat(copy).catch(() => undefined)) return;
  const unfinished = `${copy}.${process.pid}`;
  await cp(join(root, 'native'), join(unfinished, 'native'), {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => extname(path) !== '.a',
  });
  await linkLibraries(unfinished);
  if (process.platform !== 'win32') await run('chmod', ['-R', 'a+rX', unfinished]);
  await rename(unfinished, copy).catch(async (error: unknown) => {
    await rm(unfinished, { recursive: true, force: true });
    if (!hasErrorCode(error, 'EEXIST', 'ENOTEMPTY', 'EPERM')) throw error;
  });
}

// Only an execution is conclusive: permissions, a noexec mount, missing libraries and a different C library look alike otherwise.
async function executionFailure(binaries: Binaries, account?: Account): Promise<string | undefined> {
  try {
    await run(binaries.postgres, ['--version'], { cwd: WORKING_FOLDER, ...account });
    await run(binaries.initdb, ['--version'], { cwd: WORKING_FOLDER, ...account });
    return undefined;
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    return (stderr?.trim() || message).split('\n').pop();
  }
}
