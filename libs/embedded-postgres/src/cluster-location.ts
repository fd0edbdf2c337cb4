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
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import { hasErrorCode } from './error-code.js';
import { createFolder, pathExists } from './folders.js';

/** The paths of the embedded Postgres of one data directory, and the account that runs it. */
export interface ClusterLocation {
  dataDir: string;
  /** The folder that contains the cluster: the data directory, unless Postgres cannot enter that. */
  home: string;
  cluster: string;
  logFile: string;
  account?: Account;
  /** Present only where the connection is not a Unix socket. */
  password?: string;
}

/** The content of the location file, which the first start writes into the data directory. */
interface LocationFile {
  home?: string;
  socketDir?: string;
  password?: string;
}

const LOCATION_FILE = 'postgres.json';
export const SOCKET_PORT = 5432;
// The limit is 104 bytes with the final zero on macOS, and 108 on Linux.
const MAX_SOCKET_PATH_BYTES = 103;
// Both persist across a restart of the machine.
const FALLBACK_PARENTS = ['/var/lib/acta', '/var/tmp/acta'];

/**
 * Creates the data directory where it is missing, and returns the location of its cluster. The first call chooses the
 * location and records it in the data directory.
 *
 * @throws EmbeddedPostgresError when this user or the account of Postgres cannot use the folders
 */
export async function locateCluster(dataDirectory: string): Promise<ClusterLocation> {
  const dataDir = await prepareDataDirectory(resolve(dataDirectory));
  let recorded = await readLocationFile(dataDir);
  if (!recorded) {
    recorded = await chooseLocation(dataDir);
    if (!(await createLocationFile(dataDir, recorded))) {
      if (recorded.home) await rm(recorded.home, { recursive: true });
      recorded = (await readLocationFile(dataDir)) ?? {};
    }
  }
  const home = recorded.home ?? dataDir;
  const cluster = join(home, 'postgres');
  const account = isRoot() ? await accountFor((await pathExists(cluster)) ? cluster : home) : undefined;
  if (account && !(await canEnter(home, account))) {
    throw new EmbeddedPostgresError(
      `The folder ${home} is not accessible to the user ${account.uid}, which runs Postgres because Acta runs as root: give other users the execute permission on each folder above it, or run Acta as an ordinary user.`,
    );
  }
  return { dataDir, home, cluster, logFile: join(dataDir, 'postgres.log'), account, password: recorded.password };
}

/** Returns the folder of the Unix socket: the cluster, or a temporary folder where the socket path would be too long. */
export async function socketDirectory(location: ClusterLocation): Promise<string> {
  if (fitsSocketPath(location.cluster)) return location.cluster;
  const recorded = (await readLocationFile(location.dataDir)) ?? {};
  if (recorded.socketDir && (await isPrivate(recorded.socketDir, location.account))) return recorded.socketDir;
  const parent = fitsSocketPath(join(tmpdir(), 'acta-123456')) ? tmpdir() : '/tmp';
  const socketDir = await mkdtemp(join(parent, 'acta-'));
  if (location.account) await lchown(socketDir, location.account.uid, location.account.gid);
  await replaceLocationFile(location.dataDir, { ...recorded, socketDir });
  return socketDir;
}

const fitsSocketPath = (directory: string): boolean =>
  Buffer.byteLength(join(directory, `.s.PGSQL.${SOCKET_PORT}`)) <= MAX_SOCKET_PATH_BYTES;

async function isPrivate(directory: string, account?: Account): Promise<boolean> {
  const found = await stat(directory).catch(() => undefined);
  return found !== undefined && found.uid === (account?.uid ?? process.getuid?.()) && (found.mode & 0o077) === 0;
}

// The mode and owner of a folder that also contains other files do not belong to Acta, so they stay as they are.
async function prepareDataDirectory(path: string): Promise<string> {
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
      `The data directory ${path} cannot be used by this user (${(error as Error).message}): set ACTA_DATA_DIR to a different folder.`,
    );
  }
}

async function chooseLocation(dataDir: string): Promise<LocationFile> {
  // A Unix socket in a folder that only its owner can enter needs no password. A TCP port, as on Windows, needs one.
  if (process.platform === 'win32') return { password: randomBytes(24).toString('base64url') };
  if (!isRoot()) return {};
  const account = await accountFor(dataDir);
  if (await canEnter(dataDir, account)) return {};
  for (const parent of FALLBACK_PARENTS) {
    const name = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
    try {
      if (await mkdir(parent, { recursive: true })) await chmod(parent, 0o711);
      const { uid, mode } = await stat(parent);
      if (uid !== 0 || (mode & 0o022) !== 0 || !(await canEnter(parent, account))) continue;
      // The random suffix gives a data directory that was removed and created again a new database.
      const home = await mkdtemp(join(parent, `${name}-`));
      await writeFile(join(home, 'data-directory'), `${dataDir}\n`);
      await lchown(home, account.uid, account.gid);
      return { home };
    } catch (error) {
      if (!hasErrorCode(error, 'EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST')) throw error;
    }
  }
  throw new EmbeddedPostgresError(
    `The folders ${[dataDir, ...FALLBACK_PARENTS].join(', ')} are not accessible to the user ${account.uid}, which runs Postgres because Acta runs as root: set ACTA_DATA_DIR to a folder that other users can enter.`,
  );
}

async function readLocationFile(dataDir: string): Promise<LocationFile | undefined> {
  const path = join(dataDir, LOCATION_FILE);
  try {
    return JSON.parse(await readFile(path, 'utf8')) as LocationFile;
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return undefined;
    if (!(error instanceof SyntaxError)) throw error;
    throw new EmbeddedPostgresError(
      `${path} is corrupt, so the location of the database is unknown: restore the file from a backup, or write {} to it if the database is in ${dataDir}.`,
    );
  }
}

// A link appears with its whole content, and only one of several concurrent first starts can create it.
async function createLocationFile(dataDir: string, content: LocationFile): Promise<boolean> {
  const unfinished = await writeUnfinished(dataDir, content);
  try {
    await link(unfinished, join(dataDir, LOCATION_FILE));
    return true;
  } catch (error) {
    if (hasErrorCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await rm(unfinished);
  }
}

async function replaceLocationFile(dataDir: string, content: LocationFile): Promise<void> {
  await rename(await writeUnfinished(dataDir, content), join(dataDir, LOCATION_FILE));
}

async function writeUnfinished(dataDir: string, content: LocationFile): Promise<string> {
  const path = join(dataDir, `${LOCATION_FILE}.${randomBytes(4).toString('hex')}`);
  await writeFile(path, `${JSON.stringify(content)}\n`, { mode: 0o600, flag: 'wx' });
  return path;
}
