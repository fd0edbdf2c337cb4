import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

const PERIOD_MS = 20;

/** Locked, so that no append or heartbeat is half done; what one of them holds is looked at the next time. */
const OVERDUE = `select tenant_id, task_id, run_id from run_queue
  where run_id is not null and lease_expires_at <= clock_timestamp() for share skip locked`;
const VERSIONS = `select t.task_id, t.version from unnest($1::text[], $2::text[]) as r (tenant_id, task_id)
  join task t on t.tenant_id = r.tenant_id and t.task_id = r.task_id`;
const HELD = `select count(*) filter (where lease_expires_at > clock_timestamp())::integer as held
  from run_queue where worker like $1`;

/**
 * Looks at the leases all the time, and notes which runs it saw without one although the record still had them. From that
 * version on, nothing of such a run may enter the record: the next event that concerns it must take it back.
 */
export class LeaseWatch {
  /** Run → the task's version when its lease was seen to be over. */
  readonly overdue = new Map<string, number>();
  private closed = false;
  private readonly watching: Promise<void>;

  constructor(private readonly url: string) {
    this.watching = this.watch();
  }

  /** Resolves once the leases of all runs of a holder are over, by the database's clock, and that has been noted. */
  async over(holder: string, deadlineMs: number): Promise<void> {
    const deadline = Date.now() + deadlineMs;
    while (Date.now() < deadline) {
      const held = await this.held(holder).catch(() => 1);
      await delay(held === 0 ? 3 * PERIOD_MS : PERIOD_MS / 2);
      if (held === 0) return;
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.watching;
  }

  private async held(holder: string): Promise<number> {
    return this.connected(async (client) => {
      const { rows } = await client.query<{ held: number }>(HELD, [holder]);
      return rows[0]!.held;
    });
  }

  private async watch(): Promise<void> {
    while (!this.closed) {
      await this.connected(async (client) => {
        while (!this.closed) {
          await this.look(client);
          await delay(PERIOD_MS);
        }
      }).catch(() => delay(PERIOD_MS));
    }
  }

  private async look(client: pg.Client): Promise<void> {
    await client.query('begin');
    const { rows } = await client.query<{ tenant_id: string; task_id: string; run_id: string }>(OVERDUE);
    if (rows.length > 0) {
      const ids = [rows.map((row) => row.tenant_id), rows.map((row) => row.task_id)];
      const versions = await client.query<{ task_id: string; version: number }>(VERSIONS, ids);
      const versionOf = new Map(versions.rows.map((row) => [row.task_id, row.version]));
      for (const { task_id: task, run_id: run } of rows) {
        if (!this.overdue.has(run)) this.overdue.set(run, versionOf.get(task)!);
      }
    }
    await client.query('commit');
  }

  private async connected<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client(this.url);
    client.on('error', () => undefined);
    await client.connect();
    return work(client).finally(() => client.end().catch(() => undefined));
  }
}
