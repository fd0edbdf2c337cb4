import { ActaProcess, createDataDir, type Environment, type Exit } from './acta-process.js';
import { createTestDatabase } from '../database/test-database.js';

/** What all processes on a test database share. */
export const SECRET = 'the one secret of the end-to-end tests';
/** The bearer token of the bootstrap admin. */
export const TOKEN = 'token-of-the-end-to-end-tests';

export interface StartOptions {
  readonly env?: Environment;
  readonly dataDir?: string;
  /** Absent: a test database of its own. Null: the embedded one in the data directory. */
  readonly databaseUrl?: string | null;
}

export interface RunningServer {
  readonly url: string;
  readonly databaseUrl: string | null;
  readonly dataDir: string;
  readonly process: ActaProcess;
  /** Stops the process, and drops the database if it was made for it. */
  stop(): Promise<Exit>;
}

/** A server process that answers on a free port of the loopback address. */
export async function startServer(options: StartOptions = {}): Promise<RunningServer> {
  const own = options.databaseUrl === undefined ? await createTestDatabase() : null;
  const databaseUrl = own?.url ?? options.databaseUrl ?? null;
  const dataDir = options.dataDir ?? (await createDataDir());
  const server = new ActaProcess('server', { PORT: '0', ...environmentFor(databaseUrl, dataDir), ...options.env });
  const [, url] = await server.prints(/^Acta listens on (\S+)$/m);
  const stop = async () => {
    const exit = await server.stop();
    await own?.drop();
    return exit;
  };
  return { url: url!, databaseUrl, dataDir, process: server, stop };
}

/** A worker process on the database of a server. */
export async function startWorker(databaseUrl: string, env: Environment = {}): Promise<ActaProcess> {
  const worker = new ActaProcess('worker', { ...environmentFor(databaseUrl, await createDataDir()), ...env });
  await worker.prints(/^Acta worker .+$/m);
  return worker;
}

export function environmentFor(databaseUrl: string | null, dataDir: string): Environment {
  const remote = databaseUrl === null ? {} : { DATABASE_URL: databaseUrl, ACTA_SECRET_KEY: SECRET };
  return { ACTA_DATA_DIR: dataDir, ACTA_TOKEN: TOKEN, ...remote };
}
