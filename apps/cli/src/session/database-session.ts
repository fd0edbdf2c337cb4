import { userInfo } from 'node:os';
import { type Config, readConfig } from '@app/config';
import type { Principal } from '@app/domain';
import { type Connection, openDatabase, openStorage, type Storage } from '@app/storage';
import { Interrupted, INTERRUPTED } from '../exit.js';

/** What a command works with while the database is open. */
export interface Session {
  readonly config: Config;
  /** Aborts with `Interrupted`. Long work ends then, so that the database is left in order. */
  readonly signal: AbortSignal;
}

/** Few connections: a command must leave room for the servers. And no end to patience: whoever waits can press Ctrl-C. */
const POOL = { maxConnections: 4, answerMs: 0 };

/** Works on the database that a server in this environment and folder would use, its schema brought up to date. */
export async function withStorage<T>(work: (storage: Storage, session: Session) => Promise<T>): Promise<T> {
  const config = readConfig();
  const { databaseUrl, dataDir, secretKey } = config;
  const storage = await openStorage({ databaseUrl, dataDir, secretKey, ...POOL });
  return interruptible((signal) => work(storage, { config, signal })).finally(() => storage.close());
}

/** The same, with the schema left as it is. */
export async function withConnection<T>(work: (connection: Connection, session: Session) => Promise<T>): Promise<T> {
  const config = readConfig();
  const { databaseUrl, dataDir, secretKey } = config;
  const connection = await openDatabase({ databaseUrl, dataDir, secretKey, ...POOL });
  return interruptible((signal) => work(connection, { config, signal })).finally(() => connection.close());
}

/** Whoever has the database. The record shows which account of the machine that was. */
export function operatorOf(tenantId: string): Principal {
  return { tenantId, subject: OPERATOR, role: 'operator', rings: [], agents: [] };
}

export const OPERATOR = `operator:${accountName()}`;

function accountName(): string {
  try {
    return userInfo().username.replace(/[\s\p{C}]+/gu, '-') || 'unknown';
  } catch {
    // An account without a name, as containers have them.
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}

/** Lets work end in order when someone presses Ctrl-C: its signal aborts with `Interrupted`. */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const interrupt = () => {
    // Asked twice: whoever waits has waited long enough.
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
