import { createHash, randomBytes } from 'node:crypto';
import {
  chmod,
  lchown,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { type Account, accountFor, canEnter, isRoot } from './account.js';
import { EmbeddedPostgresError, hasCode } from './embedded-postgres-error.js';
import { createFolder } from './create-folder.js';

/** Where the embedded Postgres of one data directory keeps its things. */
export interface Place {
  dataDir: string;
  /** The folder of the cluster: the data directory, unless Postgres cannot enter that. */
  home: string;
  cluster: string;
  logFile: string;
  account?: Account;
  /** Only where the connection is not a Unix socket. */
  password?: string;
}

interface PlaceRecord {
  home?: string;
  socketDir?: string;
  password?: string;
}

const RECORD = 'postgres.json';
export const SOCKET_PORT = 5432;
// 104 bytes with the final zero on macOS, 108 on Linux.
const SOCKET_PATH_BYTES = 103;
// Both survive a restart of the machine.
const HOMES_OUTSIDE = ['/var/lib/acta', '/var/tmp/acta'];

/** Creates the data directory where it is missing, and settles (once, by a record in it) where the cluster lives. */
export async function findPlace(dataDirectory: string, log: (line: string) => void): Promise<Place> {
  const dataDir = await claim(resolve(dataDirectory));
  let record = await readRecord(dataDir);
  if (!record) {
    record = await settle(dataDir, log);
    if (!(await createRecord(dataDir, record))) {
      if (record.home) await rm(record.home, { recursive: true });
      record = (await readRecord(dataDir)) ?? {};
    }
  }
  const home = record.home ?? dataDir;
  const cluster = join(home, 'postgres');
  const account = isRoot() ? await accountFor((await exists(cluster)) ? cluster : home) : undefined;
  if (account && !(await canEnter(home, account))) {
    throw new EmbeddedPostgresError(
      `Postgres, which refuses to run as root, cannot enter ${home} as the user ${account.uid}: let others pass through the folders above it, or run Acta as an ordinary user.`,
    );
  }
  return { dataDir, home, cluster, logFile: join(dataDir, 'postgres.log'), account, password: record.password };
}

/** The folder for the socket: the cluster's own, or a short one where a socket path would be too long. */
export async function socketDirectory(place: Place): Promise<string> {
  if (fits(place.cluster)) return place.cluster;
  const record = (await readRecord(place.dataDir)) ?? {};
  if (record.socketDir && (await isPrivate(record.socketDir, place.account))) return record.socketDir;
  const parent = fits(join(tmpdir(), 'acta-123456')) ? tmpdir() : '/tmp';
  const socketDir = await mkdtemp(join(parent, 'acta-'));
  if (place.account) await lchown(socketDir, place.account.uid, place.account.gid);
  await replaceRecord(place.dataDir, { ...record, socketDir });
  return socketDir;
}

const fits = (directory: string): boolean =>
  Buffer.byteLength(join(directory, `.s.PGSQL.${SOCKET_PORT}`)) <= SOCKET_PATH_BYTES;

const exists = async (path: string): Promise<boolean> => (await stat(path).catch(() => undefined)) !== undefined;

async function isPrivate(directory: string, account?: Account): Promise<boolean> {
  const found = await stat(directory).catch(() => undefined);
  return found !== undefined && found.uid === (account?.uid ?? process.getuid?.()) && (found.mode & 0o077) === 0;
}

// A folder that holds other things as well is left as it is: its mode and owner are not Acta's to change.
async function claim(path: string): Promise<string> {
  try {
    await createFolder(path, 0o700);
    const dataDir = await realpath(path);
    const entries = await readdir(dataDir);
    if (basename(dataDir) === '.acta' || entries.length === 0) {
      await chmod(dataDir, 0o700);
      if (isRoot()) {
        const { uid, gid } = await accountFor(dataDir);
        await lchown(dataDir, uid, gid);
      }
    }
    return dataDir;
  } catch (error) {
    if (error instanceof EmbeddedPostgresError) throw error;
    throw new EmbeddedPostgresError(
      `The data directory ${path} cannot be used by this user (${(error as Error).message}): set ACTA_DATA_DIR to another one.`,
    );
  }
}

async function settle(dataDir: string, log: (line: string) => void): Promise<PlaceRecord> {
  // A Unix socket in a folder that only its owner can enter needs no password; a TCP port on Windows does.
  if (process.platform === 'win32') return { password: randomBytes(24).toString('base64url') };
  if (!isRoot()) return {};
  const account = await accountFor(dataDir);
  if (await canEnter(dataDir, account)) return {};
  for (const parent of HOMES_OUTSIDE) {
    // A new folder each time: a removed data directory means a new database, whatever its predecessor left behind.
    const name = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
    try {
      if (await mkdir(parent, { recursive: true })) await chmod(parent, 0o711);
      const { uid, mode } = await stat(parent);
      if (uid !== 0 || (mode & 0o022) !== 0 || !(await canEnter(parent, account))) continue;
      const home = await mkdtemp(join(parent, `${name}-`));
      await writeFile(join(home, 'data-directory'), `${dataDir}\n`);
      await lchown(home, account.uid, account.gid);
      log(`Postgres cannot enter ${dataDir} (it refuses to run as root): its database is in ${home}.`);
      return { home };
    } catch (error) {
      if (!hasCode(error, 'EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST')) throw error;
    }
  }
  throw new EmbeddedPostgresError(
    `Postgres, which refuses to run as root, can enter neither ${dataDir} nor ${HOMES_OUTSIDE.join(' nor ')}: set ACTA_DATA_DIR to a folder that other users can reach.`,
  );
}

async function readRecord(dataDir: string): Promise<PlaceRecord | undefined> {
  try {
    return JSON.parse(await readFile(join(dataDir, RECORD), 'utf8')) as PlaceRecord;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    if (!(error instanceof SyntaxError)) throw error;
    throw new EmbeddedPostgresError(
      `${join(dataDir, RECORD)} does not hold what Acta wrote, which is where the database is: restore it (with {} in it, the database is in ${dataDir}).`,
    );
  }
}

// Of two first starts at once one wins; the file appears whole or not at all.
async function createRecord(dataDir: string, record: PlaceRecord): Promise<boolean> {
  const unfinished = await writeUnfinished(dataDir, record);
  try {
    await link(unfinished, join(dataDir, RECORD));
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await rm(unfinished);
  }
}

async function replaceRecord(dataDir: string, record: PlaceRecord): Promise<void> {
  await rename(await writeUnfinished(dataDir, record), join(dataDir, RECORD));
}

async function writeUnfinished(dataDir: string, record: PlaceRecord): Promise<string> {
  const path = join(dataDir, `${RECORD}.${randomBytes(4).toString('hex')}`);
  await writeFile(path, `${JSON.stringify(record)}\n`, { mode: 0o600, flag: 'wx' });
  return path;
}
