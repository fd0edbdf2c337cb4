import pg from 'pg';
import { DataDirectory } from '../data-directory.js';
import { Database, type DatabaseOptions } from './database.js';
import { openEmbeddedPostgres } from '@app/embedded-postgres';
import { migrate } from './migrate.js';
import { ServerSecret } from '../crypto/server-secret.js';
import { StorageError } from '../storage-error.js';
import { TaskWakeups } from '../wakeups/task-wakeups.js';
import { isOverdue, isUnavailable } from './sql-state.js';

export interface StorageOptions extends DatabaseOptions {
  /** Null: the embedded Postgres in `dataDir`. */
  readonly databaseUrl: string | null;
  readonly dataDir: string;
  /** Null: the generated one in `dataDir`, which only the embedded database may have. */
  readonly secretKey: string | null;
}

/** A database that answers, whatever its schema. */
export interface Connection {
  readonly database: Database;
  readonly secret: ServerSecret;
  readonly embedded: boolean;
  /** Closes the connections, and stops the embedded Postgres unless another process uses it. */
  close(): Promise<void>;
}

/** A database of this Acta, ready for work. */
export interface Storage extends Connection {
  readonly wakeups: TaskWakeups;
}

const CONNECT_MS = 10_000;
/** Many times what a statement of a request takes; a client that is told 503 then is still there to hear it. */
const ANSWER_MS = 10_000;
const OLDEST_POSTGRES = 15;

/**
 * Connects to the database, brings its schema up to date, and makes sure that it was written with this secret.
 *
 * @throws StorageError and its like, each with one sentence for the person who started Acta
 */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const connection = await openDatabase(options);
  const { database, secret } = connection;
  const wakeups = new TaskWakeups(database);
  const close = async () => {
    await wakeups.close();
    await connection.close();
  };
  try {
    await migrateWith(database);
    await database.claimState(secret);
    await wakeups.start();
    return { ...connection, wakeups, close };
  } catch (error) {
    await close();
    if (!isUnavailable(error)) throw error;
    const { message } = error as Error;
    throw new StorageError(`The database went away while it was opened (${message}): start again once it answers.`, {
      cause: error,
    });
  }
}

/** Connects only: for what must work on a schema of any age (`acta migrate`, `acta doctor`). */
export async function openDatabase(options: StorageOptions): Promise<Connection> {
  const { databaseUrl, dataDir, secretKey, ...others } = options;
  const { onError } = others;
  const poolOptions = { answerMs: ANSWER_MS, ...others };
  if (databaseUrl !== null) {
    if (secretKey === null) throw new StorageError('DATABASE_URL needs ACTA_SECRET_KEY: set it to the one secret.');
    await probe(databaseUrl);
    const database = new Database(databaseUrl, poolOptions);
    return { database, secret: new ServerSecret(secretKey), embedded: false, close: () => database.close() };
  }
  const postgres = await openEmbeddedPostgres(dataDir, { autoRestart: true, onError });
  try {
    const secret = new ServerSecret(secretKey ?? (await new DataDirectory(dataDir).secret()));
    const database = new Database(postgres.connection, poolOptions);
    const close = async () => {
      await database.close();
      await postgres.close();
    };
    return { database, secret, embedded: true, close };
  } catch (error) {
    await postgres.close();
    throw error;
  }
}

/** A migration takes as long as it takes. */
async function migrateWith({ connection }: Database): Promise<void> {
  const patient = new Database(connection, { maxConnections: 2 });
  await migrate(patient).finally(() => patient.close());
}

/** Finds out with one connection, in good time, whether the pool would be able to work. */
async function probe(connectionString: string): Promise<void> {
  const client = clientFor(connectionString);
  client.on('error', () => undefined);
  const where = `the database ${client.database} on ${client.host}:${client.port}`;
  try {
    await client.connect();
    const { rows } = await client.query<{ version: string; standby: boolean }>(
      `select current_setting('server_version_num') as version, pg_is_in_recovery() as standby`,
    );
    const major = Math.trunc(Number(rows[0]!.version) / 10_000);
    if (major < OLDEST_POSTGRES) {
      throw new StorageError(
        `DATABASE_URL leads to Postgres ${major}, and Acta needs ${OLDEST_POSTGRES} or later: upgrade it, or use another server.`,
      );
    }
    if (rows[0]!.standby) {
      throw new StorageError(`DATABASE_URL leads to a read-only standby (${where}): use the primary.`);
    }
  } catch (error) {
    if (error instanceof StorageError) throw error;
    throw new StorageError(`DATABASE_URL does not work for ${where}: ${explain(error, client)}.`, { cause: error });
  } finally {
    await client.end().catch(() => undefined);
  }
}

function clientFor(connectionString: string): pg.Client {
  try {
    return new pg.Client({
      connectionString,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: CONNECT_MS,
      application_name: 'acta probe',
    });
  } catch {
    // The reason could quote the password.
    throw new StorageError(
      'DATABASE_URL cannot be read: use postgresql://user:password@host:port/database, with special characters percent-encoded.',
    );
  }
}

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
    case '28P01':
    case '28000':
      return `the server refused the user ${client.user}, so check the name, the password and pg_hba.conf`;
    case '3D000':
      return 'there is no such database, so create it (createdb) or correct the name';
    case '53300':
      return 'the server has no connection left, so raise max_connections or stop something else';
    default:
      return message === 'timeout expired' || isOverdue(error)
        ? `it did not answer within ${CONNECT_MS / 1000} s, so check the network and the firewall`
        : withoutPassword(message || String(code), client);
  }
}

function withoutPassword(message: string, { password }: pg.Client): string {
  return password ? message.replaceAll(password, '…') : message;
}
