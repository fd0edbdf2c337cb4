import { setTimeout as delay } from 'node:timers/promises';
import { type Binaries, findBinaries } from './binaries.js';
import { ensureCluster } from './cluster.js';
import { type ClusterLocation, locateCluster } from './cluster-location.js';
import {
  APPLICATION_ROLE,
  ClusterSession,
  isServerUnavailable,
  type PostmasterAddress,
  SUPERUSER,
} from './cluster-session.js';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import {
  isRunning,
  type LaunchedPostmaster,
  launchPostmaster,
  readPostmaster,
  removeStalePidFile,
  stopPostmaster,
} from './postmaster.js';

const DATABASE = 'acta';
const POLL_MS = 20;
const START_TIMEOUT_MS = 60_000;
/** Delay between two attempts to restart a server or to reconnect to it; it doubles up to the maximum. */
const RESTART_DELAY_MS = 250;
const MAX_RESTART_DELAY_MS = 10_000;
// Another postmaster has opened the cluster first, or processes of a killed one have not ended yet.
const TRY_AGAIN =
  /lock file "postmaster.pid" (?:already exists|is empty)|pre-existing shared memory block .* still in use/;

export interface EmbeddedPostgresOptions {
  /** Postgres settings for a start; a running server keeps its own. */
  settings?: Record<string, string>;
  /** Restarts the server whenever it ends, until `close` or `detach` is called. */
  autoRestart?: boolean;
  /** Receives the error of a failed restart, once for each consecutive reason. */
  onError?: (error: Error) => void;
}

/** A configuration of a `pg.Pool`. */
export interface EmbeddedConnection {
  host: string;
  port: number;
  user: string;
  database: string;
  password?: string;
  ssl: false;
}

export interface EmbeddedPostgres {
  /** The connection of the application role, which owns nothing. */
  connection: EmbeddedConnection;
  /** The connection of the superuser, which owns the database and its schema. */
  ownerConnection: EmbeddedConnection;
  /** The connection of the superuser as a connection string, for pg and for libpq. */
  ownerUrl: string;
  /** False when the server ran already, for another process or after a process that was killed. */
  started: boolean;
  /** Stops Postgres, unless another process uses it. */
  close(): Promise<void>;
  /** Stops using Postgres and leaves it running. */
  detach(): Promise<void>;
}

/**
 * Opens the Postgres of a data directory: connects to the running server, or starts one. The first start creates the
 * cluster, its database `acta`, and the application role.
 *
 * @throws EmbeddedPostgresError with one sentence for the person who started Acta
 */
export async function openEmbeddedPostgres(
  dataDir: string,
  options: EmbeddedPostgresOptions = {},
): Promise<EmbeddedPostgres> {
  const { settings = {}, autoRestart = false, onError = () => undefined } = options;
  const location = await locateCluster(dataDir);
  const stop = () => stopPostmaster(location, () => binariesFor(location));
  const { address, session, started } = await openWithDatabase(() => connectOrStart(location, settings), stop);
  // The path of a socket stays the same across restarts. A TCP port must be requested, so that pools can reconnect.
  const sameAddress = process.platform === 'win32' ? { ...settings, port: String(address.port) } : settings;
  const closeSession = maintainSession(
    session,
    async (isOpen) =>
      autoRestart
        ? (await connectOrStart(location, sameAddress, isOpen)).session
        : (await ClusterSession.open(address)).session,
    onError,
  );
  let closing: Promise<void> | undefined;
  const close = (stopServer: () => Promise<void>) => (closing ??= closeSession(stopServer));
  return {
    connection: { ...address, user: APPLICATION_ROLE, database: DATABASE, ssl: false },
    ownerConnection: { ...address, user: SUPERUSER, database: DATABASE, ssl: false },
    ownerUrl: connectionUrl(address),
    started,
    close: () => close(stop),
    detach: () => close(async () => undefined),
  };
}

interface OpenedServer {
  address: PostmasterAddress;
  session: ClusterSession;
  started: boolean;
}

/** Opens the server and creates the database. It retries when the server becomes unavailable in between. */
async function openWithDatabase(open: () => Promise<OpenedServer>, stop: () => Promise<void>): Promise<OpenedServer> {
  for (;;) {
    const opened = await open();
    try {
      await opened.session.createDatabase(DATABASE, opened.address.password);
      return opened;
    } catch (error) {
      await opened.session.close(stop);
      if (!isServerUnavailable(error)) throw error;
    }
  }
}

/**
 * Reconnects whenever the session ends, and returns the function that closes the session permanently. A server ends every
 * session when one of its processes is killed, for example by the out-of-memory killer, and continues to run.
 */
function maintainSession(
  initial: ClusterSession,
  reconnect: (isOpen: () => boolean) => Promise<ClusterSession | undefined>,
  onError: (error: Error) => void,
): (stop: () => Promise<void>) => Promise<void> {
  let current: Promise<ClusterSession | undefined> = Promise.resolve(initial);
  let isOpen = true;
  let reported: string | undefined;
  const onRestartFailed = (error: Error): undefined => {
    // Two messages that differ only in times and process ids have the same reason.
    const reason = error.message.replaceAll(/\d+/g, '');
    if (reason !== reported && isOpen) onError(error);
    reported = reason;
  };
  const reconnectUntilClosed = async () => {
    for (let delayMs = RESTART_DELAY_MS; isOpen; delayMs = Math.min(2 * delayMs, MAX_RESTART_DELAY_MS)) {
      const session = await current;
      if (session !== undefined) {
        delayMs = RESTART_DELAY_MS;
        reported = undefined;
        session.unref();
        await session.ended;
      }
      await delay(delayMs, undefined, { ref: false });
      if (isOpen) current = reconnect(() => isOpen).catch(onRestartFailed);
    }
  };
  void reconnectUntilClosed();
  return async (stop) => {
    isOpen = false;
    await (await current)?.close(stop);
  };
}

// A single loop covers every interleaving: another process may start or stop the server at any point.
async function connectOrStart(
  location: ClusterLocation,
  settings: Record<string, string>,
  isOpen = () => true,
): Promise<OpenedServer> {
  let launched: LaunchedPostmaster | undefined;
  let deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    const postmaster = await readPostmaster(location);
    const address = postmaster?.address;
    const result = address && (await ClusterSession.open(address));
    if (address && result?.session) {
      return { address, session: result.session, started: postmaster?.pid === launched?.pid };
    }
    if (!launched && !isOpen()) throw new EmbeddedPostgresError('The embedded Postgres is being closed.');
    if (!postmaster || !(await isRunning(postmaster))) {
      const failure = await launched?.failure();
      if (failure !== undefined && !TRY_AGAIN.test(failure)) {
        throw new EmbeddedPostgresError(
          `The embedded Postgres did not start: ${failure}; correct that, and see ${location.logFile} for details.`,
        );
      }
      if (!launched || failure !== undefined) {
        await removeStalePidFile(location, postmaster);
        launched = await start(location, settings);
      }
    }
    // A server that reports progress has no deadline, because the recovery from a long log takes long.
    const state = result?.unavailable ?? 'no connection';
    if (/starting up|recovery/.test(state)) deadline = Date.now() + START_TIMEOUT_MS;
    if (Date.now() > deadline) {
      throw new EmbeddedPostgresError(
        `The embedded Postgres in ${location.cluster} did not accept connections within ${START_TIMEOUT_MS / 1000} s (${state}): see ${location.logFile}.`,
      );
    }
    await delay(POLL_MS);
  }
}

async function start(location: ClusterLocation, settings: Record<string, string>): Promise<LaunchedPostmaster> {
  const binaries = await binariesFor(location);
  await ensureCluster(location, binaries, settings['fsync'] !== 'off');
  return launchPostmaster(location, binaries, settings);
}

const binariesFor = ({ home, account }: ClusterLocation): Promise<Binaries> => findBinaries(home, account);

function connectionUrl({ host, port, password }: PostmasterAddress): string {
  const parameters = { host, port: String(port), user: SUPERUSER, sslmode: 'disable', ...(password && { password }) };
  const query = new URLSearchParams(parameters);
  return `postgresql:///${DATABASE}?${query.toString()}`;
}
