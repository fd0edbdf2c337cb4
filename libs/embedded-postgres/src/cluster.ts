import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { lchown, mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Binaries } from './binaries.js';
import { EmbeddedPostgresError, hasCode } from './embedded-postgres-error.js';
import type { Place } from './cluster-location.js';
import { processOptions } from './postmaster.js';
import { SUPERUSER } from './presence.js';

const run = promisify(execFile);

/**
 * Creates the cluster unless there is one.
 *
 * @throws EmbeddedPostgresError when the one that is there belongs to another major version of Postgres
 */
export async function ensureCluster(place: Place, binaries: Binaries, sync: boolean): Promise<void> {
  const version = await readFile(join(place.cluster, 'PG_VERSION'), 'utf8').catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  });
  if (version === undefined) return initialize(place, binaries, sync);
  if (version.trim() === String(binaries.major)) return;
  throw new EmbeddedPostgresError(
    `The database in ${place.cluster} was made by Postgres ${version.trim()} and this is Postgres ${binaries.major}: move it with pg_dump and pg_restore, or set ACTA_DATA_DIR to a new folder.`,
  );
}

// Beside its place and then moved there, so that a cluster is never half made, and of two first starts one wins.
async function initialize(place: Place, binaries: Binaries, sync: boolean): Promise<void> {
  const unfinished = `${place.cluster}.${randomBytes(4).toString('hex')}`;
  await mkdir(unfinished, { mode: 0o700 });
  try {
    if (place.account) await lchown(unfinished, place.account.uid, place.account.gid);
    const args = ['-D', unfinished, '-U', SUPERUSER, '--locale=C', '--encoding=UTF8', '--no-instructions'];
    await run(
      binaries.initdb,
      [...args, ...(sync ? [] : ['--no-sync']), ...(await authentication(place))],
      processOptions(place),
    );
    await rename(unfinished, place.cluster);
    if (sync) await syncFolder(dirname(place.cluster));
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    if (hasCode(error, 'EEXIST', 'ENOTEMPTY')) return;
    const { stderr, message } = error as Error & { stderr?: string };
    const reason =
      stderr
        ?.trim()
        .split('\n')
        .find((line) => /error|fatal|could not/i.test(line)) ?? message;
    throw new EmbeddedPostgresError(`No database could be created in ${place.home} (${reason}).`, { cause: error });
  } finally {
    await rm(passwordFile(place), { force: true });
  }
}

async function authentication(place: Place): Promise<string[]> {
  if (place.password === undefined) return ['--auth=trust'];
  await writeFile(passwordFile(place), place.password, { mode: 0o600 });
  return ['--auth=scram-sha-256', `--pwfile=${passwordFile(place)}`];
}

const passwordFile = (place: Place): string => join(place.home, `postgres-password.${process.pid}`);

async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const folder = await open(path);
  await folder.sync().finally(() => folder.close());
}
