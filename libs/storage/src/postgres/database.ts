import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { StorageError } from '../storage-error.js';
import { loadServerKeys, type ServerKeys } from '../crypto/server-keys.js';
import type { ServerSecret } from '../crypto/server-secret.js';
import type { Schema } from './schema.js';
import { isQueryTimeout } from './sql-state.js';

const MAX_CONNECTIONS = 16;
/**
 * The first setting is for disks on which a random page costs little more than the next one. The second turns off
 * parallel workers, which cost many short statements more than they save. Together they make the planner count a list
 * on its index.
 */
const PLANNER_SETTINGS = 'set random_page_cost = 1.1; set max_parallel_workers_per_gather = 0';
/**
 * What the statements and the driver rely on. A role or a database can have other defaults: a different date style makes every read
 * fail, and a stricter isolation makes concurrent appends fail.
 */
const SESSION_SETTINGS = `set datestyle = 'ISO, MDY'; set intervalstyle = 'postgres'; set timezone = 'UTC'; set bytea_output = 'hex';
  set client_encoding = 'UTF8'; set default_transaction_isolation = 'read committed'; set default_transaction_read_only = off;
  set default_transaction_deferrable = off; set standard_conforming_strings = on; set quote_all_identifiers = off;
  select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'`;
/**
 * Limits names to the schema that contains the tables, so that an object in a different schema cannot be used instead. The
 * search_path of the role selects that schema; before the first migration, it is the schema in which tables are created. It
 * takes 1.5 ms, so later connections set the path that it returns.
 */
const PIN_SEARCH_PATH = `select set_config('search_path', quote_ident(coalesce(
    (select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.oid = to_regclass('schema_migration')),
    current_schema())) || ', pg_temp', false) as path`;
/**
 * The share of the query timeout after which the server cancels a statement, so that it does not commit after its
 * caller has failed.
 */
const STATEMENT_TIMEOUT_SHARE = 0.9;
const SELECT_NOW: NamedStatement = { name: 'now', text: 'select clock_timestamp() as now' };

/** The address of a database: a URL, or the options of the driver. */
export type ConnectionConfig = string | pg.PoolConfig;

/** A prepared statement. Postgres parses it once for each connection. */
export interface NamedStatement {
  readonly name: string;
  readonly text: string;
}

/** Runs statements: the pool, or one connection inside a transaction. */
export type Executor = Pick<pg.Pool, 'query'>;

export interface DatabaseOptions {
  readonly maxConnections?: number;
  /** Limit for a connection attempt and for each query, in milliseconds. 0 or absent: no limit. */
  readonly queryTimeoutMs?: number;
  /** Receives the errors of idle connections. The pool replaces these connections. */
  readonly onError?: (error: Error) => void;
}

export interface StatementCounts {
  statements: number;
  transactions: number;
}

/** The connection pool of this process. */
export class Database {
  readonly pool: pg.Pool;
  readonly kysely: Kysely<Schema>;
  /** Exposed by `/metrics`. */
  readonly statementCounts: StatementCounts = { statements: 0, transactions: 0 };
  private currentEpoch: number | null = null;
  private searchPath: string | null = null;
  private serverKeys: ServerKeys | null = null;

  constructor(
    readonly connection: ConnectionConfig,
    { maxConnections = MAX_CONNECTIONS, queryTimeoutMs = 0, onError }: DatabaseOptions = {},
  ) {
    const config: pg.PoolConfig = typeof connection === 'string' ? { connectionString: connection } : connection;
    this.pool = new pg.Pool({
      max: maxConnections,
      application_name: 'acta',
      keepAlive: true,
      connectionTimeoutMillis: queryTimeoutMs,
      query_timeout: queryTimeoutMs,
      ...config,
      onConnect: (client) => this.configure(client, queryTimeoutMs),
    } as pg.PoolConfig);
    // Without this listener, an idle connection that the server closes would end the process.
    this.pool.on('error', (error) => onError?.(error));
    // The pool does not listen to a connection that is in use. Its user gets the error from its own query.
    this.pool.on('connect', (client) => client.on('error', () => undefined));
    // Kysely also releases a connection whose statement timed out. A response to that statement must not reach the next
    // user.
    this.pool.on('release', (error, client) => {
      if (!error && isBusy(client)) void (client as unknown as pg.Client).end();
    });
    this.kysely = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: this.pool }) });
  }

  /** The epoch of new events. Throws before `initializeServerState`. */
  get epoch(): number {
    if (this.currentEpoch === null) throw new Error('The epoch is unknown: call initializeServerState() first.');
    return this.currentEpoch;
  }

  /** The random keys that all servers of this database share. Throws before `initializeServerState`. */
  get keys(): ServerKeys {
    if (this.serverKeys === null) throw new Error('The server keys are unknown: call initializeServerState() first.');
    return this.serverKeys;
  }

  /** Runs one named statement in one round trip, and returns its rows. */
  async run<Row extends pg.QueryResultRow>(
    statement: NamedStatement,
    values: readonly unknown[],
    executor: Executor = this.pool,
  ): Promise<Row[]> {
    this.statementCounts.statements += 1;
    const result = await executor.query<Row>({ ...statement, values: values as unknown[] });
    return result.rows;
  }

  /**
   * Returns the database time in milliseconds. Retries and cancels are due by this time, because the server time can be
   * wrong. Takes one round trip.
   */
  async now(executor?: Executor): Promise<number> {
    const [row] = await this.run<{ now: Date }>(SELECT_NOW, [], executor);
    return row!.now.getTime();
  }

  /** Runs work in one transaction. Commits when the work resolves, and rolls back when it rejects. */
  async transaction<T>(work: (executor: Executor) => Promise<T>): Promise<T> {
    this.statementCounts.transactions += 1;
    const client = await this.pool.connect();
    try {
      await client.query('begin');
      const result = await work(client);
      await client.query('commit');
      client.release();
      return result;
    } catch (error) {
      if (isQueryTimeout(error)) {
        // A rollback would wait for the response to the query that timed out. The server rolls back when the connection
        // closes.
        client.release(error as Error);
        throw error;
      }
      // A connection on which the rollback fails is broken, so the pool must not use it again.
      await client.query('rollback').then(
        () => client.release(),
        (rollbackError: Error) => client.release(rollbackError),
      );
      throw error;
    }
  }

  /**
   * Checks that the database was created with this secret, and determines the epoch and the server keys. The first server
   * stores the fingerprint of its secret, and the keys. A database that was restored into a different cluster starts a new
   * epoch, because the transaction ids of its events mean nothing in that cluster. Throws StorageError for a different secret.
   */
  async initializeServerState(secret: ServerSecret): Promise<void> {
    const { epoch, keys } = await this.transaction(async (executor) => {
      const system = await executor.query<{ id: string }>(
        'select system_identifier::text as id from pg_control_system()',
      );
      const id = system.rows[0]!.id;
      await executor.query(
        `insert into server_state (secret_fingerprint, epoch, system_identifier) values ($1, 1, $2) on conflict do nothing`,
        [secret.fingerprint(), id],
      );
      const { rows } = await executor.query<{ secret_fingerprint: string; epoch: number; system_identifier: string }>(
        'select secret_fingerprint, epoch, system_identifier from server_state for update',
      );
      const state = rows[0]!;
      if (state.secret_fingerprint !== secret.fingerprint()) {
        throw new StorageError(
          'The database was created with a different secret: set ACTA_SECRET_KEY to the secret that it was created with.',
        );
      }
      const keys = await loadServerKeys(secret, executor);
      if (state.system_identifier === id) return { epoch: state.epoch, keys };
      await executor.query('update server_state set epoch = epoch + 1, system_identifier = $1', [id]);
      return { epoch: state.epoch + 1, keys };
    });
    this.currentEpoch = epoch;
    this.serverKeys = keys;
  }

  /** Sets what Acta relies on, in one round trip. */
  private async configure(client: pg.ClientBase, queryTimeoutMs: number): Promise<void> {
    const timeout = `set statement_timeout = ${Math.round(queryTimeoutMs * STATEMENT_TIMEOUT_SHARE)}`;
    const path = this.searchPath === null ? PIN_SEARCH_PATH : `set search_path = ${this.searchPath}`;
    // The driver returns an array for several statements. Its types omit that.
    const results = (await client.query(
      `${PLANNER_SETTINGS}; ${SESSION_SETTINGS}; ${timeout}; ${path}`,
    )) as unknown as pg.QueryResult[];
    this.searchPath ??= (results.at(-1)!.rows[0] as { path: string | null }).path;
  }

  async close(): Promise<void> {
    await this.kysely.destroy();
    // Kysely ends the pool only if Kysely has run a query itself.
    if (!this.pool.ended) await this.pool.end();
  }
}

/** Returns whether a connection still waits for a response. The types of the driver omit this property. */
function isBusy(client: pg.PoolClient): boolean {
  return !(client as unknown as { readyForQuery: boolean }).readyForQuery;
}
