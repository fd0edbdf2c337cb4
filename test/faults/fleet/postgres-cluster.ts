import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Database, migrate } from '@app/storage';
import pg from 'pg';
import { type EmbeddedPostgres, openEmbeddedPostgres } from '@app/embedded-postgres';

const SETTINGS = { max_connections: '200' };

/** A Postgres server that the suite can restart while it is in use. Commits are durable (fsync is on). */
export class PostgresCluster {
  private readonly opened: EmbeddedPostgres[];

  private constructor(
    /** The folder of the data directory. Storms also write their files here. */
    readonly directory: string,
    private readonly dataDirectory: string,
    first: EmbeddedPostgres,
  ) {
    this.opened = [first];
  }

  static async start(directory: string): Promise<PostgresCluster> {
    const postgres = await openEmbeddedPostgres(directory, { settings: SETTINGS });
    const client = new pg.Client(postgres.ownerUrl);
    await client.connect();
    const { rows } = await client.query<{ data_directory: string }>('show data_directory');
    await client.end();
    return new PostgresCluster(directory, rows[0]!.data_directory, postgres);
  }

  /** The path of the Unix socket on which the server listens. */
  get socket(): string {
    const { host, port } = this.opened[0]!.connection;
    return join(host, `.s.PGSQL.${port}`);
  }

  /** The application role, which the processes of a storm use. */
  get user(): string {
    return this.opened[0]!.connection.user;
  }

  /** Creates a migrated, empty database and returns the URL of its owner, without a proxy. */
  async createDatabase(name: string): Promise<string> {
    await this.asAdmin((client) => client.query(`create database ${name}`));
    const url = new URL(this.opened[0]!.ownerUrl);
    url.pathname = `/${name}`;
    const database = new Database(url.href, { maxConnections: 1 });
    await migrate(database, { grantTo: this.user }).finally(() => database.close());
    return url.href;
  }

  dropDatabase(name: string): Promise<unknown> {
    return this.asAdmin((client) => client.query(`drop database if exists ${name} with (force)`));
  }

  /** Restarts the server. `fast` ends the sessions cleanly; `immediate` crashes the server, which then recovers from its WAL. */
  async restart(mode: 'fast' | 'immediate', downMs: number): Promise<void> {
    const pid = parseInt(await readFile(join(this.dataDirectory, 'postmaster.pid'), 'utf8'), 10);
    process.kill(pid, mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    while (isAlive(pid)) await delay(10);
    await delay(downMs);
    this.opened.push(await openEmbeddedPostgres(this.directory, { settings: SETTINGS }));
  }

  async close(): Promise<void> {
    for (const postgres of this.opened) await postgres.close();
  }

  private async asAdmin<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client(this.opened[0]!.ownerUrl);
    await client.connect();
    return work(client).finally(() => client.end());
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
