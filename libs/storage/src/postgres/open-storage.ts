import { openEmbeddedPostgres } from '@app/embedded-postgres';
import { ServerSecret } from '../crypto/server-secret.js';
import { DataDirectory } from '../data-directory.js';
import { StorageError } from '../storage-error.js';
import { TaskWakeups } from '../wakeups/task-wakeups.js';
import { checkDatabaseUrl } from './check-database-url.js';
import { Database, type DatabaseOptions } from './database.js';
import { migrate } from './migrate.js';
import { isUnavailable } from './sql-state.js';

/**
 * Many times the duration of a statement in a request. It is short enough that a client still waits when it gets the
 * 503.
 */
const QUERY_TIMEOUT_MS = 10_000;

export interface StorageOptions extends DatabaseOptions {
  /** Null: the embedded Postgres in `dataDir`. */
  readonly databaseUrl: string | null;
  readonly dataDir: string;
  /** Null: the generated secret in `dataDir`, which only the embedded database can use. */
  readonly secretKey: string | null;
}

/** A database that accepts connections. Its schema can be of any version, or missing. */
export interface DatabaseConnection {
  readonly database: Database;
  /** The secret of this deployment. Only `openStorage` checks that the database was created with it. */
  readonly secret: ServerSecret;
  /** Closes the connections, and stops the embedded Postgres unless a different process uses it. */
  close(): Promise<void>;
}

/** A database with the current schema that was created with this secret. */
export interface Storage extends DatabaseConnection {
  readonly wakeups: TaskWakeups;
}

/** Connects to the database, migrates its schema, and checks the secret. Throws StorageError. */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const connection = await connectToDatabase(options);
  const { database, secret } = connection;
  const wakeups = new TaskWakeups(database);
  const close = async () => {
    await wakeups.close();
    await connection.close();
  };
  try {
    await migrateWithoutTimeout(database);
    await database.initializeServerState(secret);
    await wakeups.start();
    return { ...connection, wakeups, close };
  } catch (error) {
    await close();
    if (!isUnavailable(error)) throw error;
    throw new StorageError(
      `The database became unavailable during startup (${(error as Error).message}): start Acta again when it is available.`,
      { cause: error },
    );
  }
}

/**
 * Connects to the database without a migration, for commands that must work on a schema of any version. Throws
 * StorageError.
 */
export async function connectToDatabase(options: StorageOptions): Promise<DatabaseConnection> {
  const { databaseUrl, dataDir, secretKey, ...others } = options;
  const databaseOptions = { queryTimeoutMs: QUERY_TIMEOUT_MS, ...others };
  if (databaseUrl !== null) {
    if (secretKey === null) {
      throw new StorageError('DATABASE_URL needs ACTA_SECRET_KEY: set it to the secret of this deployment.');
    }
    await checkDatabaseUrl(databaseUrl);
    const database = new Database(databaseUrl, databaseOptions);
    return { database, secret: new ServerSecret(secretKey), close: () => database.close() };
  }
  const postgres = await openEmbeddedPostgres(dataDir, { autoRestart: true, onError: others.onError });
  try {
    const secret = new ServerSecret(secretKey ?? (await new DataDirectory(dataDir).secret()));
    const database = new Database(postgres.connection, databaseOptions);
    const close = async () => {
      await database.close();
      await postgres.close();
    };
    return { database, secret, close };
  } catch (error) {
    await postgres.close();
    throw error;
  }
}

async function migrateWithoutTimeout({ connection }: Database): Promise<void> {
  const database = new Database(connection, { maxConnections: 2 });
  await migrate(database).finally(() => database.close());
}
