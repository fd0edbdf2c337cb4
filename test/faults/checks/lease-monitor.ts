import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

const PERIOD_MS = 20;

/** The row locks exclude concurrent appends and heartbeats. A row that is locked by one of them is read in the next period. */
const EXPIRED = `select tenant_id, task_id, run_id from run_queue
  where run_id is not null and lease_expires_at <= clock_timestamp() for share skip locked`;
const VERSIONS = `select t.task_id, t.version from unnest($1::text[], $2::uuid[]) as r (tenant_id, task_id)
  join task t on t.tenant_id = r.tenant_id and t.task_id = r.task_id`;
const ACTIVE = `select count(*) filter (where lease_expires_at > clock_timestamp())::integer as active
  from run_queue where worker like $1`;

/**
 * Polls the leases and records the runs whose lease has expired while they were still active. From that version on, the event
 * log must not contain a write of such a run: its next event must end the run.
 */
export class LeaseMonitor {
  /** Run id → the task's version when the expired lease was seen. */
  readonly expired = new Map<string, number>();
  private closed = false;
  private readonly monitoring: Promise<void>;

  constructor(private readonly url: string) {
    this.monitoring = this.monitor();
  }

  /** Resolves when all leases of the matching workers have expired (database time) and are recorded, or after `timeoutMs`. */
  async untilExpired(workerPattern: string, timeoutMs: number): Promise<void> {
    const deadline = Date.now() + timeoutMs;
    while (Date.now() < deadline) {
      const active = await this.countActive(workerPattern).catch(() => 1);
      await delay(active === 0 ? 3 * PERIOD_MS : PERIOD_MS / 2);
      if (active === 0) return;
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.monitoring;
  }

  private async countActive(workerPattern: string): Promise<number> {
    return this.withClient(async (client) => {
      const { rows } = await client.query<{ active: number }>(ACTIVE, [workerPattern]);
      return rows[0]!.active;
    });
  }

  private async monitor(): Promise<void> {
    while (!this.closed) {
      await this.withClient(async (client) => {
        while (!this.closed) {
          await this.recordExpired(client);
          await delay(PERIOD_MS);
        }
      }).catch(() => delay(PERIOD_MS));
    }
  }

  private async recordExpired(client: pg.Client): Promise<void> {
    await client.query('begin');
    const { rows } = await client.query<{ tenant_id: string; task_id: string; run_id: string }>(EXPIRED);
    if (rows.length > 0) {
      const ids = [rows.map((row) => row.tenant_id), rows.map((row) => row.task_id)];
      const versions = await client.query<{ task_id: string; version: number }>(VERSIONS, ids);
      const versionOf = new Map(versions.rows.map((row) => [row.task_id, row.version]));
      for (const { task_id: task, run_id: run } of rows) {
        if (!this.expired.has(run)) this.expired.set(run, versionOf.get(task)!);
      }
    }
    await client.query('commit');
  }

  private async withClient<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client(this.url);
    client.on('error', () => undefined);
    await client.connect();
    return work(client).finally(() => client.end().catch(() => undefined));
  }
}
