import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import type { Schema } from './schema.js';
import type { ServerSecret } from '../crypto/server-secret.js';
import { isOverdue } from './sql-state.js';

export type ConnectionConfig = string | pg.PoolConfig;

/** A statement with a name is planned once for each connection. */
export interface NamedStatement {
  readonly name: string;
  readonly text: string;
}

/** Whatever runs statements: the pool, or one connection inside a transaction. */
export type Executor = Pick<pg.Pool, 'query'>;

export interface DatabaseOptions {
  readonly maxConnections?: number;
  /**
   * For a connection, and for the answer to each statement, in milliseconds: a database that is silent must not hold whoever
   * asks it. 0 or absent: as long as it takes, which is for what may rightly take long.
   */
  readonly answerMs?: number;
  /** Hears of connections that break while idle; the pool replaces them. */
  readonly onError?: (error: Error) => void;
}

export interface StatementCounts {
  statements: number;
  transactions: number;
}

/**
 * How the planner is to see this database: on disks where a random page costs little more than the next one, and without
 * parallel workers, which cost many short statements more than they save. Both keep the exact count of a list on its index.
 */
const PLANNING = 'set random_page_cost = 1.1; set max_parallel_workers_per_gather = 0';

const NOW: NamedStatement = { name: 'now', text: 'select clock_timestamp() as now' };

/** What nobody waits for any more must not go on, and be done after its caller was told that it was not. */
const settingsFor = (answerMs = 0) => `${PLANNING}; set statement_timeout = ${Math.round(answerMs * 0.9)}`;

/** The connections of this process to the one database. */
export class Database {
  readonly pool: pg.Pool;
  readonly kysely: Kysely<Schema>;
  /** Counted for `/metrics`. */
  readonly counts: StatementCounts = { statements: 0, transactions: 0 };
  private currentEpoch: number | null = null;

  constructor(
    readonly connection: ConnectionConfig,
    options: DatabaseOptions = {},
  ) {
    const config: pg.PoolConfig = typeof connection === 'string' ? { connectionString: connection } : connection;
    this.pool = new pg.Pool({
      max: options.maxConnections ?? 16,
      application_name: 'acta',
      keepAlive: true,
      connectionTimeoutMillis: options.answerMs,
      query_timeout: options.answerMs,
      ...config,
      onConnect: (client) => client.query(settingsFor(options.answerMs)),
    } as pg.PoolConfig);
    // An idle connection that the server closes must not end the process.
    this.pool.on('error', (error) => options.onError?.(error));
    // Nor must one that breaks while it is lent out, when the pool does not listen: whoever has it is told by its query.
    this.pool.on('connect', (client) => client.on('error', () => undefined));
    // Kysely gives back a connection whatever became of its statement: one that still owes an answer is not for the next.
    this.pool.on('release', (error, client) => {
      if (!error && owesAnswer(client)) void (client as unknown as pg.Client).end();
    });
    this.kysely = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: this.pool }) });
  }

  /** The epoch that new events are written in. Known once `claimState` has run. */
  get epoch(): number {
    if (this.currentEpoch === null) throw new Error('the database is used before claimState()');
    return this.currentEpoch;
  }

  /** Runs one named statement: one round trip. */
  async run<Row extends pg.QueryResultRow>(
    statement: NamedStatement,
    values: readonly unknown[],
    executor: Executor = this.pool,
  ): Promise<Row[]> {
    this.counts.statements += 1;
    const result = await executor.query<Row>({ ...statement, values: values as unknown[] });
    return result.rows;
  }

  /**
   * Now, in milliseconds, by the clock that says when a retry or a cancel is due. That of this process may be hours off.
   * One round trip.
   */
  async now(executor?: Executor): Promise<number> {
    const [row] = await this.run<{ now: Date }>(NOW, [], executor);
    return row!.now.getTime();
  }

  async transaction<T>(work: (executor: Executor) => Promise<T>): Promise<T> {
    this.counts.transactions += 1;
    const client = await this.pool.connect();
    try {
      await client.query('begin');
      const result = await work(client);
      await client.query('commit');
      client.release();
      return result;
    } catch (error) {
      if (isOverdue(error)) {
        // A rollback would wait behind the answer that does not come; the server rolls back what loses its connection.
        client.release(error as Error);
        throw error;
      }
      // A connection that cannot even roll back is broken: the pool must not hand it out again.
      await client.query('rollback').then(
        () => client.release(),
        (broken: Error) => client.release(broken),
      );
      throw error;
    }
  }

  /**
   * Makes sure that this server and this database belong together: the first server to come leaves the fingerprint of
   * its secret, every other must have the same. A database that was restored into another cluster starts a new epoch,
   * because that cluster's transaction ids say nothing about the events it brought along.
   */
  async claimState(secret: ServerSecret): Promise<void> {
    this.currentEpoch = await this.transaction(async (executor) => {
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
        throw new Error(
          'this database was written with another secret: start with the ACTA_SECRET_KEY that it was created with',
        );
      }
      if (state.system_identifier === id) return state.epoch;
      await executor.query('update server_state set epoch = epoch + 1, system_identifier = $1', [id]);
      return state.epoch + 1;
    });
  }

  async close(): Promise<void> {
    await this.kysely.destroy();
    // Kysely ends the pool only when it has run a query itself.
    if (!this.pool.ended) await this.pool.end();
  }
}

/** The types leave out that a client knows it. */
function owesAnswer(client: pg.PoolClient): boolean {
  return !(client as unknown as { readyForQuery: boolean }).readyForQuery;
}
