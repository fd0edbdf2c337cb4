import type { TaskState } from '@app/domain';
import type { EventLog, Executor, NamedStatement, StreamHead } from '@app/storage';

/** A task whose queue row this transaction holds. */
export interface LockedTask {
  readonly tenantId: string;
  readonly taskId: string;
  readonly head: StreamHead;
}

interface LockedRow {
  tenant_id: string;
  task_id: string;
  state: TaskState;
  head_hash: Buffer;
  wrapped_key: Buffer | null;
}

/** `picked` locks and limits; the head of each stream comes along, so that a claim needs no further read. */
const withHeads = (name: string, picked: string): NamedStatement => ({
  name,
  text: `with picked as materialized (${picked} for update skip locked)
    select p.tenant_id, p.task_id, t.state, t.head_hash, k.wrapped_key
    from picked p
    join task t on t.tenant_id = p.tenant_id and t.task_id = p.task_id
    left join task_key k on k.tenant_id = p.tenant_id and k.task_id = p.task_id`,
});

const WAITING = withHeads(
  'waiting_runs',
  `select tenant_id, task_id from run_queue
   where run_id is null and agent = any($1) and (not_before is null or not_before <= clock_timestamp())
   order by queued_at limit $2`,
);

const EXPIRED = withHeads(
  'expired_runs',
  `select tenant_id, task_id from run_queue
   where run_id is not null and lease_expires_at <= clock_timestamp() order by lease_expires_at limit $1`,
);

const OVERDUE_CANCELS = withHeads(
  'overdue_cancels',
  `select tenant_id, task_id from run_queue
   where cancel_deadline <= clock_timestamp() order by cancel_deadline limit $1`,
);

const HEARTBEAT: NamedStatement = {
  name: 'heartbeat',
  text: `update run_queue q set lease_expires_at = clock_timestamp() + $4 * interval '1 millisecond'
    from unnest($1::text[], $2::text[], $3::text[]) as h (tenant_id, task_id, run_id)
    where q.tenant_id = h.tenant_id and q.task_id = h.task_id and q.run_id = h.run_id
      and q.lease_expires_at > clock_timestamp()
    returning q.run_id, q.cancel_deadline is not null as cancel`,
};

/** The work that waits, and the leases on the work that is under way. Leases are kept by the database's clock alone. */
export class RunQueue {
  constructor(private readonly log: EventLog) {}

  waiting(agents: readonly string[], limit: number, executor: Executor): Promise<LockedTask[]> {
    return this.locked(WAITING, [agents, limit], executor);
  }

  expired(limit: number, executor: Executor): Promise<LockedTask[]> {
    return this.locked(EXPIRED, [limit], executor);
  }

  overdueCancels(limit: number, executor: Executor): Promise<LockedTask[]> {
    return this.locked(OVERDUE_CANCELS, [limit], executor);
  }

  /** Renews the leases of runs, all in one statement. What does not come back is no longer held. */
  async heartbeat(
    runs: readonly { tenantId: string; taskId: string; runId: string }[],
    leaseMs: number,
  ): Promise<{ runId: string; cancel: boolean }[]> {
    const rows = await this.log.database.run<{ run_id: string; cancel: boolean }>(HEARTBEAT, [
      runs.map((run) => run.tenantId),
      runs.map((run) => run.taskId),
      runs.map((run) => run.runId),
      leaseMs,
    ]);
    return rows.map((row) => ({ runId: row.run_id, cancel: row.cancel }));
  }

  private async locked(statement: NamedStatement, values: unknown[], executor: Executor): Promise<LockedTask[]> {
    const rows = await this.log.database.run<LockedRow>(statement, values, executor);
    return rows.map((row) => ({
      tenantId: row.tenant_id,
      taskId: row.task_id,
      head: this.log.headOf(row.tenant_id, row.task_id, row),
    }));
  }
}
