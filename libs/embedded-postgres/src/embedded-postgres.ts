import { setTimeout as delay } from 'node:timers/promises';
import { type Binaries, findBinaries } from './binaries.js';
import { ensureCluster } from './cluster.js';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import { findPlace, type Place } from './cluster-location.js';
import { clearStalePid, isRunning, launch, type Launch, readPostmaster, stop } from './postmaster.js';
import { type Address, isAbsence, Presence, SUPERUSER } from './presence.js';

const DATABASE = 'acta';
const POLL_MS = 20;
const PATIENCE_MS = 60_000;
/** Between two attempts to come back to a server that is gone, or does not start. */
const COME_BACK_MS = 250;
const MAX_COME_BACK_MS = 10_000;
// What Postgres complains about when another postmaster has the cluster.
const LOST_RACE = /lock file "postmaster.pid" (already exists|is empty)/;

export interface EmbeddedPostgresOptions {
  /** Receives one line for each thing that a person may want to know. */
  log?: (line: string) => void;
  /** Postgres settings of a start; a server that runs already keeps its own. */
  settings?: Record<string, string>;
  /** Starts it again whenever it is gone, for as long as it is open. */
  revive?: boolean;
  /** Hears, once for each reason, why it cannot be started again. */
  onTrouble?: (trouble: Error) => void;
}

export interface EmbeddedPostgres {
  /** Usable as the configuration of a `pg.Pool`. */
  connection: { host: string; port: number; user: string; database: string; password?: string; ssl: false };
  /** The same as a connection string, for pg and for libpq. */
  url: string;
  /** False when it ran already, for another process or because its own was killed. */
  started: boolean;
  /** Stops Postgres, unless another process has it open. */
  close(): Promise<void>;
  /** Leaves it running, for whoever comes next. */
  leave(): Promise<void>;
}

/**
 * Opens the Postgres of a data directory: adopts the one that runs on it, or starts one, at the very first start on a
 * new cluster. The database `acta` exists afterwards.
 *
 * @throws EmbeddedPostgresError one sentence for the person who started Acta
 */
export async function openEmbeddedPostgres(
  dataDir: string,
  options: EmbeddedPostgresOptions = {},
): Promise<EmbeddedPostgres> {
  const { log = () => undefined, settings = {}, revive = false, onTrouble = () => undefined } = options;
  const place = await findPlace(dataDir, log);
  const stopPostgres = () => stop(place, () => binariesFor(place));
  const { address, presence, started } = await withDatabase(() => adoptOrStart(place, settings), stopPostgres);
  // Sockets stay where they are, and connections that are made later find them there; a port has to be asked for.
  const same = process.platform === 'win32' ? { ...settings, port: String(address.port) } : settings;
  const leave = stay(
    presence,
    async (wanted) =>
      revive ? (await adoptOrStart(place, same, wanted)).presence : (await Presence.join(address)).presence,
    onTrouble,
  );
  let closing: Promise<void> | undefined;
  const close = (end = stopPostgres): Promise<void> => (closing ??= leave(end));
  log(started ? `Postgres started in ${place.cluster}.` : `Postgres runs already in ${place.cluster}.`);
  const connection = { ...address, user: SUPERUSER, database: DATABASE, ssl: false as const };
  return { connection, url: connectionUrl(address), started, close: () => close(), leave: () => close(nothing) };
}

/** Once more when the server goes away meanwhile, as it does for a moment when one of its processes was killed. */
async function withDatabase(adopt: () => Promise<Adopted>, stopPostgres: () => Promise<void>): Promise<Adopted> {
  for (;;) {
    const adopted = await adopt();
    try {
      await adopted.presence.createDatabase(DATABASE);
      return adopted;
    } catch (error) {
      await adopted.presence.leave(stopPostgres);
      if (!isAbsence(error)) throw error;
    }
  }
}

const nothing = async (): Promise<void> => undefined;

/**
 * Comes back whenever the session ends: the server ends all of them when one of its processes is killed (out of memory,
 * say) and goes on, and with a server that is killed itself they break. Gives what ends this, and the session with it.
 */
function stay(
  present: Presence,
  comeBack: (wanted: () => boolean) => Promise<Presence | undefined>,
  onTrouble: (trouble: Error) => void,
): (stop: () => Promise<void>) => Promise<void> {
  let presence: Promise<Presence | undefined> = Promise.resolve(present);
  let leaving = false;
  let told: string | undefined;
  const inVain = (error: Error): undefined => {
    // Times and process ids apart.
    const reason = error.message.replaceAll(/\d+/g, '');
    if (reason !== told && !leaving) onTrouble(error);
    told = reason;
  };
  const staying = async () => {
    for (let pause = COME_BACK_MS; !leaving; pause = Math.min(2 * pause, MAX_COME_BACK_MS)) {
      const session = await presence;
      if (session !== undefined) {
        pause = COME_BACK_MS;
        told = undefined;
        session.letGo();
        await session.ended;
      }
      await delay(pause, undefined, { ref: false });
      if (!leaving) presence = comeBack(() => !leaving).catch(inVain);
    }
  };
  void staying();
  return async (stop) => {
    leaving = true;
    await (await presence)?.leave(stop);
  };
}

interface Adopted {
  address: Address;
  presence: Presence;
  started: boolean;
}

// One loop for all orders of events: another start may win at any point, and another process's stop may come in between.
async function adoptOrStart(place: Place, settings: Record<string, string>, wanted = () => true): Promise<Adopted> {
  let launched: Launch | undefined;
  let deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const postmaster = await readPostmaster(place);
    const address = postmaster?.address;
    const answer = address && (await Presence.join(address));
    if (address && answer?.presence) {
      return { address, presence: answer.presence, started: postmaster?.pid === launched?.pid };
    }
    if (!launched && !wanted()) throw new EmbeddedPostgresError('The embedded Postgres is not wanted any more.');
    if (!postmaster || !(await isRunning(postmaster))) {
      const failure = await launched?.failure();
      if (failure !== undefined && !LOST_RACE.test(failure)) {
        throw new EmbeddedPostgresError(`The embedded Postgres did not start: ${failure}`);
      }
      if (!launched || failure !== undefined) {
        await clearStalePid(place, postmaster);
        launched = await start(place, settings);
      }
    }
    // The server says how it is getting on: replaying a long log after a crash takes as long as it takes.
    const state = answer?.absent ?? 'no connection';
    if (/starting up|recovery/.test(state)) deadline = Date.now() + PATIENCE_MS;
    if (Date.now() > deadline) {
      throw new EmbeddedPostgresError(
        `The embedded Postgres in ${place.cluster} did not answer within ${PATIENCE_MS / 1000} s (${state}); see ${place.logFile}.`,
      );
    }
    await delay(POLL_MS);
  }
}

async function start(place: Place, settings: Record<string, string>): Promise<Launch> {
  const binaries = await binariesFor(place);
  await ensureCluster(place, binaries, settings['fsync'] !== 'off');
  return launch(place, binaries, settings);
}

const binariesFor = (place: Place): Promise<Binaries> => findBinaries(place.home, place.account);

function connectionUrl({ host, port, password }: Address): string {
  const parameters = { host, port: String(port), user: SUPERUSER, sslmode: 'disable', ...(password && { password }) };
  const query = new URLSearchParams(parameters);
  return `postgresql:///${DATABASE}?${query.toString()}`;
}
