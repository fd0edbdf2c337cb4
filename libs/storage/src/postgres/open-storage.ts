import { openEmbeddedPostgres } from '@app/embedded-postgres';
import { ServerSecret } from '../crypto/server-secret.js';
import { DataDirectory } from '../data-directory.js';
import { StorageError } from '../storage-error.js';
import { TaskWakeups } from '../wakeups/task-wakeups.js';
import { prepareSchema } from '../schema/prepare-schema.js';
import { checkDatabaseUrl } from './check-database-url.js';
import { type ConnectionConfig, Database, type DatabaseOptions } from './database.js';
import { isUnavailable } from './sql-state.js';

/**
 * Many times the duration of a statement in a request. It is short enough that a client still waits when it gets the
 * 503.
 */
const QUERY_TIMEOUT_MS = 10_000;

export interface StorageOptions extends DatabaseOptions {
  /** Null: the embedded Postgres in `dataDir`. */
  readonly databaseUrl: string | null;
  /** The role that owns the schema. Null: unknown, or the role of `databaseUrl`. */
  readonly ownerDatabaseUrl: string | null;
  readonly dataDir: string;
  /** Null: the generated secret in `dataDir`, which only the embedded database can use. */
  readonly secretKey: string | null;
}

/** A database that accepts connections. Its schema can be of any version, or missing. */
export interface DatabaseConnection {
  readonly database: Database;
  /** The secret of this deployment. Only `openStorage` checks that the database was created with it. */
  readonly secret: ServerSecret;
  /** The connection of the role that owns the schema. Null: unknown, or that of `database`. */
  readonly owner: ConnectionConfig | null;
  /** Closes the connections, and stops the embedded Postgres unless a different process uses it. */
  close(): Promise<void>;
}

/** A database with the current schema that was created with this secret. */
export interface Storage extends DatabaseConnection {
  readonly wakeups: TaskWakeups;
}

/**
 * Connects to the database, and checks its schema and its secret. With the rights of the owner, it also migrates the
 * schema. Throws StorageError.
 */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const connection = await connectToDatabase(options);
  const { database, secret, owner } = connection;
  const wakeups = new TaskWakeups(database);
  const close = async () => {
    await wakeups.close();
    await connection.close();
  };
  try {
    await prepareSchema({ connection: database.connection, owner });
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
  const { databaseUrl, ownerDatabaseUrl, dataDir, secretKey, ...others } = options;
  const databaseOptions = { queryTimeoutMs: QUERY_TIMEOUT_MS, ...others };
  if (databaseUrl !== null) {
    if (secretKey === null) {
      throw new StorageError('DATABASE_URL needs ACTA_SECRET_KEY: set it to the secret of this deployment.');
    }
    await checkDatabaseUrl(databaseUrl);
    const database = new Database(databaseUrl, databaseOptions);
    return { database, secret: new ServerSecret(secretKey), owner: ownerDatabaseUrl, close: () => database.close() };
  }
  if (ownerDatabaseUrl !== null) {
    throw new StorageError(
      'ACTA_OWNER_DATABASE_URL is set and DATABASE_URL is not: set DATABASE_URL to the role that servers and workers use.',
    );
  }
  const postgres = await openEmbeddedPostgres(dataDir, { autoRestart: true, onError: others.onError });
  try {
    const secret = new ServerSecret(secretKey ?? (await new DataDirectory(dataDir).secret()));
    const database = new Database(postgres.connection, databaseOptions);
    const close = async () => {
      await database.close();
      await postgres.close();
    };
    return { database, secret, owner: postgres.ownerConnection, close };
  } catch (error) {
    await postgres.close();
    throw error;
  }
}

/** A connection of the role that owns the schema. */
export interface OwnerConnection {
  readonly database: Database;
  /** The application role of the embedded Postgres. Null for a different server. */
  readonly applicationRole: string | null;
  close(): Promise<void>;
}

/** Connects as the role that owns the schema, for migrations. It needs no secret. Throws StorageError. */
export async function connectAsOwner(
  options: Pick<StorageOptions, 'databaseUrl' | 'ownerDatabaseUrl' | 'dataDir'>,
): Promise<OwnerConnection> {
  const { databaseUrl, ownerDatabaseUrl, dataDir } = options;
  const url = ownerDatabaseUrl ?? databaseUrl;
  if (url !== null) {
    await checkDatabaseUrl(url, ownerDatabaseUrl === null ? 'DATABASE_URL' : 'ACTA_OWNER_DATABASE_URL');
    const database = new Database(url, { maxConnections: 1 });
    return { database, applicationRole: null, close: () => database.close() };
  }
  const postgres = await openEmbeddedPostgres(dataDir);
  const database = new Database(postgres.ownerConnection, { maxConnections: 1 });
  const close = async () => {
    await database.close();
    await postgres.close();
  };
  return { database, applicationRole: postgres.connection.user, close };
}
