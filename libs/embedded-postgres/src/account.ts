import { readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';

/** The operating system user that runs Postgres; undefined where that is the user of this process. */
export interface Account {
  uid: number;
  gid: number;
}

// An administrator can create `acta` to isolate Postgres from other services; nearly every system has `nobody`.
const PREFERRED = ['acta', 'postgres', 'nobody'];

export const isRoot = (): boolean => process.getuid?.() === 0;

/**
 * Selects the account that runs Postgres when Acta runs as root, because Postgres refuses to run as root: the owner of the
 * directory, so that a user's own data directory stays theirs under sudo, or else one of the preferred accounts.
 *
 * @throws EmbeddedPostgresError when the system has no account other than root
 */
export async function accountFor(directory: string): Promise<Account> {
  const { uid, gid } = await stat(directory);
  const accounts = await readAccounts();
  // initdb fails for a uid without a name.
  if (uid !== 0 && [...accounts.values()].some((account) => account.uid === uid)) return { uid, gid };
  const name = PREFERRED.find((candidate) => accounts.has(candidate));
  const account = name === undefined ? [...accounts.values()].find((entry) => entry.uid !== 0) : accounts.get(name);
  if (account) return account;
  throw new EmbeddedPostgresError(
    'The file /etc/passwd has no account for Postgres, which refuses to run as root: run Acta as an ordinary user, or set DATABASE_URL.',
  );
}

/** Returns whether the account has the execute permission on the directory, given as a real path, and on every parent. */
export async function canEnter(directory: string, account: Account): Promise<boolean> {
  for (let path = directory; ; path = dirname(path)) {
    const { uid, gid, mode } = await stat(path);
    const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) return false;
    if (path === dirname(path)) return true;
  }
}

async function readAccounts(): Promise<Map<string, Account>> {
  const accounts = new Map<string, Account>();
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n');
  for (const [name, , uid, gid] of lines.map((line) => line.split(':'))) {
    // macOS writes the uid of nobody as -2.
    if (name && uid && gid) accounts.set(name, { uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 });
  }
  return accounts;
}
