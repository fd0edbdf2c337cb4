import pg from 'pg';
import { StorageError } from '../storage-error.js';
import { isQueryTimeout, SQL_STATE } from './sql-state.js';

const CONNECT_TIMEOUT_MS = 10_000;
const MIN_POSTGRES_VERSION = 15;
const ENCODING = 'UTF8';

/** The variable that an error names. */
export type UrlVariable = 'DATABASE_URL' | 'ACTA_OWNER_DATABASE_URL';

/**
 * Checks with one connection that a pool can use the database. Throws StorageError with the reason, without the
 * password.
 */
export async function checkDatabaseUrl(
  connectionString: string,
  variable: UrlVariable = 'DATABASE_URL',
): Promise<void> {
  const client = clientFor(connectionString, variable);
  client.on('error', () => undefined);
  const database = `the database ${client.database} on ${client.host}:${client.port}`;
  try {
    await client.connect();
    const { rows } = await client.query<{ version: string; standby: boolean; encoding: string }>(
      `select current_setting('server_version_num') as version, pg_is_in_recovery() as standby,
        current_setting('server_encoding') as encoding`,
    );
    const major = Math.trunc(Number(rows[0]!.version) / 10_000);
    if (major < MIN_POSTGRES_VERSION) {
      throw new StorageError(
        `${variable} names a server of Postgres ${major}, and Acta needs ${MIN_POSTGRES_VERSION} or later: upgrade it, or use a different server.`,
      );
    }
    if (rows[0]!.encoding !== ENCODING) {
      throw new StorageError(
        `${variable} names a database with the encoding ${rows[0]!.encoding} (${database}), which cannot contain every text: create one with createdb --template=template0 --encoding=${ENCODING}.`,
      );
    }
    if (rows[0]!.standby) {
      throw new StorageError(`${variable} names a read-only standby (${database}): use the primary.`);
    }
  } catch (error) {
    if (error instanceof StorageError) throw error;
    throw new StorageError(`${variable} does not work for ${database}: ${explain(error, client)}.`, { cause: error });
  } finally {
    await client.end().catch(() => undefined);
  }
}

function clientFor(connectionString: string, variable: UrlVariable): pg.Client {
  try {
    return new pg.Client({
      connectionString,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: CONNECT_TIMEOUT_MS,
      application_name: 'acta probe',
    });
  } catch {
    // The reason is omitted, because it can contain the password.
    throw new StorageError(
      `${variable} cannot be parsed: use postgresql://user:password@host:port/database, with special characters percent-encoded.`,
    );
  }
}

/** Returns the cause of a failed connection, and what to do. */
function explain(error: unknown, client: pg.Client): string {
  const { code, message } = error as Error & { code?: string };
  switch (code) {
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'the host name is not known, so correct it or the name service';
    case 'ECONNREFUSED':
    case 'ENOENT':
      return 'nothing listens there, so start Postgres or correct host and port';
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'ETIMEDOUT':
      return 'the host cannot be reached, so check the network and the firewall';
    case SQL_STATE.invalidPassword:
    case SQL_STATE.invalidAuthorizationSpecification:
      return `the server rejected the user ${client.user}, so check the name, the password and pg_hba.conf`;
    case SQL_STATE.invalidCatalogName:
      return 'the database does not exist, so create it (createdb) or correct the name';
    case SQL_STATE.tooManyConnections:
      return 'the server has no free connection, so raise max_connections or stop other clients';
    default:
      return message === 'timeout expired' || isQueryTimeout(error)
        ? `the server did not respond within ${CONNECT_TIMEOUT_MS / 1000} s, so check the network and the firewall`
        : withoutPassword(message || String(code), client);
  }
}

function withoutPassword(message: string, { password }: pg.Client): string {
  return password ? message.replaceAll(password, '…') : message;
}
