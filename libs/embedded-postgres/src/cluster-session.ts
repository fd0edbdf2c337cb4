import pg from 'pg';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import { hasErrorCode } from './error-code.js';

/** The role that owns the cluster, the database and the schema. */
export const SUPERUSER = 'acta';
/** The role of servers, workers and the command line. It owns nothing. */
export const APPLICATION_ROLE = 'acta_app';
/** Limit for the last two queries of a session, to which a server that shuts down does not respond. */
const DISCONNECT_TIMEOUT_MS = 5_000;
const CONNECT_TIMEOUT_MS = 5_000;
// The advisory locks of Acta have the namespace 'ACTA' in ASCII as their first number.
const LOCK_NAMESPACE = 0x41435441;
const USERS_LOCK = 1;
const CREATE_DATABASE_LOCK = 2;
const UNAVAILABLE_CODES = [
  'ENOENT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  // admin_shutdown, crash_shutdown, cannot_connect_now, too_many_connections
  '57P01',
  '57P02',
  '57P03',
  '53300',
];

/** The address of a running postmaster, for any of its databases. */
export interface PostmasterAddress {
  /** The folder of the Unix socket, or a host name. */
  host: string;
  port: number;
  password?: string;
}

/**
 * Marks that this process uses the cluster: a session that holds a shared advisory lock. Postgres releases the lock when the
 * process ends in any way. The last user detects atomically that it is the last, because only then can it take the lock
 * exclusively; a process that connects after that waits until the server has stopped.
 */
export class ClusterSession {
  /** Resolves when the session has ended: closed, or terminated by a server that was killed or lost one of its processes. */
  readonly ended: Promise<void>;

  private constructor(private readonly client: pg.Client) {
    this.ended = new Promise((resolve) => client.once('end', resolve));
  }

  /** Opens a session, or returns the reason why the server is (still) unavailable. */
  static async open(address: PostmasterAddress): Promise<{ session?: ClusterSession; unavailable?: string }> {
    try {
      return { session: new ClusterSession(await connect(address)) };
    } catch (error) {
      const { message } = error as Error;
      if (isServerUnavailable(error)) return { unavailable: message };
      throw new EmbeddedPostgresError(`The embedded Postgres refused the connection (${message}).`, { cause: error });
    }
  }

  /** Creates the database and the application role unless they exist. The role has the password of the superuser, if any. */
  async createDatabase(name: string, password?: string): Promise<void> {
    const { client } = this;
    await client.query('SELECT pg_advisory_lock($1, $2)', [LOCK_NAMESPACE, CREATE_DATABASE_LOCK]);
    try {
      const role = await client.query('SELECT FROM pg_roles WHERE rolname = $1', [APPLICATION_ROLE]);
      if (role.rowCount === 0) {
        const credential = password === undefined ? '' : ` PASSWORD ${client.escapeLiteral(password)}`;
        await client.query(`CREATE ROLE ${APPLICATION_ROLE} LOGIN${credential}`);
      }
      const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [name]);
      if (rowCount === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`);
    } finally {
      await client.query('SELECT pg_advisory_unlock($1, $2)', [LOCK_NAMESPACE, CREATE_DATABASE_LOCK]);
    }
  }

  /** Lets the process exit while the session is open. */
  unref(): void {
    setKeepAlive(this.client, false);
  }

  /** Ends the session, and calls `stop` before that when no other process uses the cluster. */
  async close(stop: () => Promise<void>): Promise<void> {
    setKeepAlive(this.client, true);
    try {
      if (await this.isLastUser()) await stop();
    } finally {
      await this.client.end().catch(() => undefined);
    }
  }

  private async isLastUser(): Promise<boolean> {
    const query = <Row extends pg.QueryResultRow>(text: string) =>
      this.client.query<Row>({
        text,
        values: [LOCK_NAMESPACE, USERS_LOCK],
        query_timeout: DISCONNECT_TIMEOUT_MS,
      } as pg.QueryConfig);
    try {
      await query('SELECT pg_advisory_unlock_shared($1, $2)');
      const { rows } = await query<{ last: boolean }>('SELECT pg_try_advisory_lock($1, $2) AS last');
      return rows[0]?.last ?? false;
    } catch {
      // Either the server has ended and there is nothing to stop, or it does not respond.
      return false;
    }
  }
}

async function connect(address: PostmasterAddress): Promise<pg.Client> {
  const client = new pg.Client({
    ...address,
    user: SUPERUSER,
    database: 'postgres',
    // Overrides PGSSLMODE in the environment.
    ssl: false,
    application_name: 'acta cluster session',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('SELECT pg_advisory_lock_shared($1, $2)', [LOCK_NAMESPACE, USERS_LOCK]);
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
  return client;
}

// Every client has both methods; the types of pg omit them.
function setKeepAlive(client: pg.Client, keepAlive: boolean): void {
  const { connection } = client as unknown as { connection: { ref(): void; unref(): void } };
  if (keepAlive) connection.ref();
  else connection.unref();
}

/** Returns whether an error means that the server does not accept or no longer serves connections. */
export function isServerUnavailable(error: unknown): boolean {
  // pg reports a connection that broke or timed out by an error without a code.
  return (error as { code?: string }).code === undefined || hasErrorCode(error, ...UNAVAILABLE_CODES);
}
