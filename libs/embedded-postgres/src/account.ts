import { readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';

/** The operating system user that Postgres runs as; undefined where it is the user of this process. */
export interface Account {
  uid: number;
  gid: number;
}

// An administrator who wants Postgres isolated from everything else creates the first; nearly every system has the last.
const PREFERRED = ['acta', 'postgres', 'nobody'];

export const isRoot = (): boolean => process.getuid?.() === 0;

/**
 * Postgres refuses to run as root, so that root needs another account for it: the owner of what is there already
 * (a user's own data directory stays theirs under sudo), or else one of the preferred names.
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
    'Postgres refuses to run as root and /etc/passwd has no other account: run Acta as an ordinary user, or set DATABASE_URL.',
  );
}

/** Whether the account may pass through every folder down to this one, given as a real path. */
export async function canEnter(directory: string, account: Account): Promise<boolean> {
  for (let at = directory; ; at = dirname(at)) {
    const { uid, gid, mode } = await stat(at);
    const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) return false;
    if (at === dirname(at)) return true;
  }
}

async function readAccounts(): Promise<Map<string, Account>> {
  const accounts = new Map<string, Account>();
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n');
  for (const [name, , uid, gid] of lines.map((line) => line.split(':'))) {
    // macOS writes nobody as -2.
    if (name && uid && gid) accounts.set(name, { uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 });
  }
  return accounts;
}
