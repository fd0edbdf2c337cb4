import pg from 'pg';
import { EmbeddedPostgresError, hasCode } from './embedded-postgres-error.js';

export const SUPERUSER = 'acta';
/** For the answers at the end, which a server that is stopped does not give. */
const FAREWELL_MS = 5_000;
// 'ACTA' in ASCII; the second number tells the two locks apart.
const SPACE = 0x41435441;
const USERS = 1;
const CREATION = 2;
const NOT_THERE = ['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', '57P01', '57P02', '57P03', '53300'];

/** How to reach a running postmaster, whatever the database. */
export interface Address {
  /** The folder of the Unix socket, or a host name. */
  host: string;
  port: number;
  password?: string;
}

/**
 * One process's use of a postmaster: a session that holds a shared advisory lock. The lock cannot outlive its process,
 * however that ends, and the last user finds out atomically that it is the last: it alone gets the lock exclusively,
 * and whoever arrives after that waits, until the server is gone.
 */
export class Presence {
  /** Resolves once the session is over: left, or ended by a server that was killed or lost one of its processes. */
  readonly ended: Promise<void>;

  private constructor(private readonly client: pg.Client) {
    this.ended = new Promise((resolve) => client.once('end', resolve));
  }

  /** Resolves to why not where no server answers (yet). */
  static async join(address: Address): Promise<{ presence?: Presence; absent?: string }> {
    try {
      return { presence: new Presence(await enter(address)) };
    } catch (error) {
      return { absent: reasonOfAbsence(error) };
    }
  }

  /** Creates the database unless it exists. */
  async createDatabase(name: string): Promise<void> {
    const { client } = this;
    await client.query('SELECT pg_advisory_lock($1, $2)', [SPACE, CREATION]);
    try {
      const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [name]);
      if (rowCount === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`);
    } finally {
      await client.query('SELECT pg_advisory_unlock($1, $2)', [SPACE, CREATION]);
    }
  }

  /** Lets a program that is done end without leaving. */
  letGo(): void {
    keepAlive(this.client, false);
  }

  /** Stops using the server, by calling `stop` when nobody else uses it. */
  async leave(stop: () => Promise<void>): Promise<void> {
    keepAlive(this.client, true);
    try {
      if (await this.isLast()) await stop();
    } finally {
      await this.client.end().catch(() => undefined);
    }
  }

  private async isLast(): Promise<boolean> {
    const ask = <Row extends pg.QueryResultRow>(text: string) =>
      this.client.query<Row>({ text, values: [SPACE, USERS], query_timeout: FAREWELL_MS } as pg.QueryConfig);
    try {
      await ask('SELECT pg_advisory_unlock_shared($1, $2)');
      const { rows } = await ask<{ last: boolean }>('SELECT pg_try_advisory_lock($1, $2) AS last');
      return rows[0]?.last ?? false;
    } catch {
      // The session broke because the server is gone, and nothing is left to stop; or the server does not answer.
      return false;
    }
  }
}

async function enter(address: Address): Promise<pg.Client> {
  const client = new pg.Client({
    ...address,
    user: SUPERUSER,
    database: 'postgres',
    // Else PGSSLMODE in the environment decides.
    ssl: false,
    application_name: 'acta presence',
    connectionTimeoutMillis: 5000,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('SELECT pg_advisory_lock_shared($1, $2)', [SPACE, USERS]);
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
  return client;
}

// Both exist on every client; the types leave them out.
function keepAlive(client: pg.Client, keep: boolean): void {
  const { connection } = client as unknown as { connection: { ref(): void; unref(): void } };
  if (keep) connection.ref();
  else connection.unref();
}

/** Whether no server answered, or none does any more. */
export function isAbsence(error: unknown): boolean {
  // Without a code: pg's own words for a connection that broke or took too long.
  return (error as { code?: string }).code === undefined || hasCode(error, ...NOT_THERE);
}

function reasonOfAbsence(error: unknown): string {
  const { message } = error as Error;
  if (isAbsence(error)) return message;
  throw new EmbeddedPostgresError(`The embedded Postgres refused the connection (${message}).`, { cause: error });
}
