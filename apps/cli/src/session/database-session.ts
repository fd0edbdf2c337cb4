import { userInfo } from 'node:os';
import { type Config, readConfig } from '@app/config';
import type { Principal } from '@app/domain';
import {
  connectAsOwner,
  type DatabaseConnection,
  connectToDatabase,
  explainStatementError,
  openStorage,
  type OwnerConnection,
  type Storage,
  type StorageOptions,
} from '@app/storage';
import { Interrupted, INTERRUPTED } from '../exit.js';

/** The context of a command while the database is open. */
export interface Session {
  readonly config: Config;
  /** Aborts with `Interrupted` after Ctrl-C. Long work ends then, and the connections are closed. */
  readonly signal: AbortSignal;
}

/** A command uses few connections, to leave them to the servers. It has no query timeout, because the user can press Ctrl-C. */
const POOL = { maxConnections: 4, queryTimeoutMs: 0 };

/** Runs work on the database that a server in this environment and folder would use. */
export function withStorage<T>(work: (storage: Storage, session: Session) => Promise<T>): Promise<T> {
  return withOpened(openStorage, work);
}

/** Runs work on the same database, whatever its schema is. */
export function withConnection<T>(work: (connection: DatabaseConnection, session: Session) => Promise<T>): Promise<T> {
  return withOpened(connectToDatabase, (connection, session) =>
    work(connection, session).catch(async (error: unknown) => {
      throw await explainStatementError(error, connection.database.pool);
    }),
  );
}

/** Runs work on the same database as the role that owns its schema. Needs no secret. */
export async function withOwnerConnection<T>(work: (owner: OwnerConnection) => Promise<T>): Promise<T> {
  const owner = await connectAsOwner(readConfig());
  return interruptible(() => work(owner)).finally(() => owner.close());
}

async function withOpened<Opened extends DatabaseConnection, T>(
  open: (options: StorageOptions) => Promise<Opened>,
  work: (opened: Opened, session: Session) => Promise<T>,
): Promise<T> {
  const config = readConfig();
  const { databaseUrl, ownerDatabaseUrl, dataDir, secretKey } = config;
  const opened = await open({ databaseUrl, ownerDatabaseUrl, dataDir, secretKey, ...POOL });
  return interruptible((signal) => work(opened, { config, signal })).finally(() => opened.close());
}

/** Returns the principal of the command line in a tenant. Its subject names the operating system account, for the audit log and the event log. */
export function operatorOf(tenantId: string): Principal {
  return { tenantId, subject: OPERATOR, role: 'operator', rings: [], agents: [] };
}

export const OPERATOR = `operator:${accountName()}`;

function accountName(): string {
  try {
    return userInfo().username.replace(/[\s\p{C}]+/gu, '-') || 'unknown';
  } catch {
    // Containers can run as a uid without a name.
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}

/** Runs work with a signal that aborts with `Interrupted` after the first Ctrl-C or SIGTERM. */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const interrupt = () => {
    // The second one exits immediately.
    if (controller.signal.aborted) process.exit(INTERRUPTED);
    controller.abort(new Interrupted());
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  try {
    return await work(controller.signal);
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}
