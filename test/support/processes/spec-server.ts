import { afterAll, beforeAll } from '@jest/globals';
import { V1Caller } from '../clients/rpc.js';
import { DatabaseView } from '../database/database-view.js';
import type { ActaProcess, Environment } from './acta-process.js';
import { type RunningServer, startServer, TOKEN } from './start-server.js';

interface Started {
  readonly server: RunningServer;
  readonly database: DatabaseView;
  readonly caller: V1Caller;
}

/** The server of a spec file. Hooks and tests can use it, but not the code that runs while the file is loaded. */
class SpecServer {
  private started: Started | null = null;

  constructor(private readonly env: Environment | (() => Promise<Environment>)) {}

  async start(): Promise<void> {
    const { env } = this;
    const server = await startServer({ env: typeof env === 'function' ? await env() : env });
    const database = new DatabaseView(server.databaseUrl!);
    this.started = { server, database, caller: new V1Caller(server.url, TOKEN) };
  }

  async stop(): Promise<void> {
    await this.started?.database.close();
    await this.started?.server.stop();
  }

  get url(): string {
    return this.parts.server.url;
  }

  get process(): ActaProcess {
    return this.parts.server.process;
  }

  get databaseUrl(): string {
    return this.parts.server.databaseUrl!;
  }

  /** The database of the server. */
  get database(): DatabaseView {
    return this.parts.database;
  }

  /** A caller of v1.0 with the token of the bootstrap admin. */
  get caller(): V1Caller {
    return this.parts.caller;
  }

  private get parts(): Started {
    if (this.started === null) throw new Error('the server of this spec file is not started');
    return this.started;
  }
}

/** Starts a server on a new database before the tests of a spec file, and stops it after them. */
export function useServer(env: Environment | (() => Promise<Environment>) = {}): SpecServer {
  const server = new SpecServer(env);
  beforeAll(() => server.start(), 90_000);
  afterAll(() => server.stop());
  return server;
}
