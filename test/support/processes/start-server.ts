import { ActaProcess, createDataDir, type Environment, type Exit } from './acta-process.js';
import { createTestDatabase } from '../database/test-database.js';

/** `ACTA_SECRET_KEY` of all processes on a test database. */
export const SECRET = 'the one secret of the end-to-end tests';
/** The bearer token of the bootstrap admin. */
export const TOKEN = 'token-of-the-admin-in-the-end-to-end-tests';

export interface StartOptions {
  readonly env?: Environment;
  readonly dataDir?: string;
  /** Absent: a new test database. Null: the embedded database in the data directory. */
  readonly databaseUrl?: string | null;
}

export interface RunningServer {
  readonly url: string;
  readonly databaseUrl: string | null;
  readonly dataDir: string;
  readonly process: ActaProcess;
  /** Stops the process, and drops the database if the server created it. */
  stop(): Promise<Exit>;
}

/** Starts a server on a free port of the loopback address, and waits until it listens. */
export async function startServer(options: StartOptions = {}): Promise<RunningServer> {
  const created = options.databaseUrl === undefined ? await createTestDatabase() : null;
  const databaseUrl = created?.url ?? options.databaseUrl ?? null;
  const dataDir = options.dataDir ?? (await createDataDir());
  const server = new ActaProcess('server', { PORT: '0', ...environmentFor(databaseUrl, dataDir), ...options.env });
  const [, url] = await server.waitForOutput(/^Acta listens on (\S+)$/m);
  const stop = async () => {
    const exit = await server.stop();
    await created?.drop();
    return exit;
  };
  return { url: url!, databaseUrl, dataDir, process: server, stop };
}

/** Starts a worker on the database of a server, and waits until it is ready. */
export async function startWorker(databaseUrl: string, env: Environment = {}): Promise<ActaProcess> {
  const worker = new ActaProcess('worker', { ...environmentFor(databaseUrl, await createDataDir()), ...env });
  await worker.waitForOutput(/^Acta worker .+$/m);
  return worker;
}

/** Returns the environment of a process on a database; null is the embedded one. */
export function environmentFor(databaseUrl: string | null, dataDir: string): Environment {
  const remote = databaseUrl === null ? {} : { DATABASE_URL: databaseUrl, ACTA_SECRET_KEY: SECRET };
  return { ACTA_DATA_DIR: dataDir, ACTA_TOKEN: TOKEN, ...remote };
}
