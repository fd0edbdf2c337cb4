import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Database, migrate } from '@app/storage';
import pg from 'pg';
import { type EmbeddedPostgres, openEmbeddedPostgres } from '@app/embedded-postgres';

const SETTINGS = { max_connections: '200' };

/** A Postgres of the suite's own, which it can restart under its users. It keeps what it has committed (fsync is on). */
export class PostgresCluster {
  private readonly opened: EmbeddedPostgres[];

  private constructor(
    /** Whatever else a storm writes goes in here as well. */
    readonly directory: string,
    private readonly dataDirectory: string,
    first: EmbeddedPostgres,
  ) {
    this.opened = [first];
  }

  static async start(directory: string): Promise<PostgresCluster> {
    const postgres = await openEmbeddedPostgres(directory, { settings: SETTINGS });
    const client = new pg.Client(postgres.url);
    await client.connect();
    const { rows } = await client.query<{ data_directory: string }>('show data_directory');
    await client.end();
    return new PostgresCluster(directory, rows[0]!.data_directory, postgres);
  }

  /** Where it listens: the path of its Unix socket. */
  get socket(): string {
    const { host, port } = this.opened[0]!.connection;
    return join(host, `.s.PGSQL.${port}`);
  }

  get user(): string {
    return this.opened[0]!.connection.user;
  }

  /** A migrated, empty database; how to reach it without anything in between. */
  async createDatabase(name: string): Promise<string> {
    await this.asAdmin((client) => client.query(`create database ${name}`));
    const url = new URL(this.opened[0]!.url);
    url.pathname = `/${name}`;
    const database = new Database(url.href, { maxConnections: 1 });
    await migrate(database).finally(() => database.close());
    return url.href;
  }

  dropDatabase(name: string): Promise<unknown> {
    return this.asAdmin((client) => client.query(`drop database if exists ${name} with (force)`));
  }

  /** `fast` ends sessions in good order; `immediate` is a crash of the server, after which it recovers from its log. */
  async restart(mode: 'fast' | 'immediate', downMs: number): Promise<void> {
    const pid = parseInt(await readFile(join(this.dataDirectory, 'postmaster.pid'), 'utf8'), 10);
    process.kill(pid, mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    while (lives(pid)) await delay(10);
    await delay(downMs);
    this.opened.push(await openEmbeddedPostgres(this.directory, { settings: SETTINGS }));
  }

  async close(): Promise<void> {
    for (const postgres of this.opened) await postgres.close();
  }

  private async asAdmin<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client(this.opened[0]!.url);
    await client.connect();
    return work(client).finally(() => client.end());
  }
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
