import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { EmbeddedPostgresError, hasCode } from './embedded-postgres-error.js';

export const SUPERUSER = 'acta';
const REJOIN_MS = 250;
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
  private left = false;

  private constructor(
    private readonly address: Address,
    private client: pg.Client,
  ) {
    this.watch();
  }

  /** Resolves to why not where no server answers (yet). */
  static async join(address: Address): Promise<{ presence?: Presence; absent?: string }> {
    try {
      return { presence: new Presence(address, await enter(address)) };
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
    this.left = true;
    keepAlive(this.client, true);
    try {
      if (await this.isLast()) await stop();
    } finally {
      await this.client.end().catch(() => undefined);
    }
  }

  private async isLast(): Promise<boolean> {
    try {
      await this.client.query('SELECT pg_advisory_unlock_shared($1, $2)', [SPACE, USERS]);
      const { rows } = await this.client.query<{ last: boolean }>('SELECT pg_try_advisory_lock($1, $2) AS last', [
        SPACE,
        USERS,
      ]);
      return rows[0]?.last ?? false;
    } catch {
      // The session broke because the server is gone; nothing is left to stop.
      return false;
    }
  }

  // The server ends all sessions when one of its processes is killed (out of memory, say), and goes on.
  private watch(): void {
    const { client } = this;
    client.once('end', () => {
      if (!this.left) void this.rejoin();
    });
  }

  private async rejoin(): Promise<void> {
    while (!this.left) {
      await delay(REJOIN_MS, undefined, { ref: false });
      const client = await enter(this.address).catch(() => undefined);
      if (!client) continue;
      this.client = client;
      this.watch();
      if (this.left) await client.end();
      else this.letGo();
      return;
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

function reasonOfAbsence(error: unknown): string {
  const { message, code } = error as Error & { code?: string };
  // Without a code: pg's own words for a connection that broke or took too long.
  if (code === undefined || hasCode(error, ...NOT_THERE)) return message;
  throw new EmbeddedPostgresError(`The embedded Postgres refused the connection (${message}).`, { cause: error });
}
