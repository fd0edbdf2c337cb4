import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { lchown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Binaries } from './binaries.js';
import type { ClusterLocation } from './cluster-location.js';
import { SUPERUSER } from './cluster-session.js';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import { hasErrorCode } from './error-code.js';
import { syncFolder } from './folders.js';
import { processOptions } from './postmaster.js';

const run = promisify(execFile);

/**
 * Creates the cluster unless it exists. `sync` flushes it to disk.
 *
 * @throws EmbeddedPostgresError when it cannot be created, or exists and belongs to a different major version of Postgres
 */
export async function ensureCluster(location: ClusterLocation, binaries: Binaries, sync: boolean): Promise<void> {
  const version = await readFile(join(location.cluster, 'PG_VERSION'), 'utf8').catch((error: unknown) => {
    if (hasErrorCode(error, 'ENOENT')) return undefined;
    throw error;
  });
  if (version === undefined) return initialize(location, binaries, sync);
  if (version.trim() === String(binaries.major)) return;
  throw new EmbeddedPostgresError(
    `The database in ${location.cluster} was created by Postgres ${version.trim()}, and this is Postgres ${binaries.major}: migrate it with pg_dump and pg_restore, or set ACTA_DATA_DIR to a new folder.`,
  );
}

// The cluster gets its name when it is complete. Only one of several concurrent first starts can rename its own.
async function initialize(location: ClusterLocation, binaries: Binaries, sync: boolean): Promise<void> {
  const unfinished = `${location.cluster}.${randomBytes(4).toString('hex')}`;
  await mkdir(unfinished, { mode: 0o700 });
  try {
    if (location.account) await lchown(unfinished, location.account.uid, location.account.gid);
    const args = ['-D', unfinished, '-U', SUPERUSER, '--locale=C', '--encoding=UTF8', '--no-instructions'];
    await run(
      binaries.initdb,
      [...args, ...(sync ? [] : ['--no-sync']), ...(await authentication(location))],
      processOptions(location),
    );
    await rename(unfinished, location.cluster);
    if (sync) await syncFolder(dirname(location.cluster));
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    if (hasErrorCode(error, 'EEXIST', 'ENOTEMPTY')) return;
    const { stderr, message } = error as Error & { stderr?: string };
    const reason =
      stderr
        ?.trim()
        .split('\n')
        .find((line) => /error|fatal|could not/i.test(line)) ?? message;
    throw new EmbeddedPostgresError(
      `A database cannot be created in ${location.home} (${reason}): correct that, or set ACTA_DATA_DIR to a different folder.`,
      { cause: error },
    );
  } finally {
    await rm(passwordFile(location), { force: true });
  }
}

async function authentication(location: ClusterLocation): Promise<string[]> {
  if (location.password === undefined) return ['--auth=trust'];
  await writeFile(passwordFile(location), location.password, { mode: 0o600 });
  return ['--auth=scram-sha-256', `--pwfile=${passwordFile(location)}`];
}

const passwordFile = ({ home }: ClusterLocation): string => join(home, `postgres-password.${process.pid}`);
