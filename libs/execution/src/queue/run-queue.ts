import type { TaskState } from '@app/domain';
import type { Database, EventDecoder, Executor, NamedStatement, StreamHead } from '@app/storage';

/** A task whose queue row this transaction holds. */
export interface LockedTask {
  readonly tenantId: string;
  readonly taskId: string;
  readonly head: StreamHead;
}

interface HeadRow {
  tenant_id: string;
  task_id: string;
  state: TaskState;
  head_hash: Buffer;
  wrapped_key: Buffer | null;
}

/**
 * Waiting work of these agents, fair between tenants: each tenant's oldest come first, then each one's second oldest, and
 * the turn passes from tenant to tenant ($3 had the last one), so that a tenant with ten thousand tasks delays another's
 * single task by one claim, also of workers with a single slot. (By age alone, whoever queued first would have every one
 * of their claims.) The recursion steps from tenant to tenant along the index instead of reading every waiting row.
 */
const WAITING: NamedStatement = {
  name: 'waiting_runs',
  text: `with recursive tenants as (
      (select tenant_id from run_queue where run_id is null order by tenant_id limit 1)
      union all
      select (select q.tenant_id from run_queue q where q.run_id is null and q.tenant_id > t.tenant_id
              order by q.tenant_id limit 1)
      from tenants t where t.tenant_id is not null
    ), candidates as materialized (
      select q.tenant_id, q.task_id, q.nth, q.tenant_id <= $3 as served
      from tenants t cross join lateral (
        select tenant_id, task_id, row_number() over (order by queued_at) as nth
        from run_queue
        where run_id is null and tenant_id = t.tenant_id and agent = any($1)
          and (not_before is null or not_before <= clock_timestamp())
        order by queued_at limit $2 * 2
      ) q
      order by q.nth, served, q.tenant_id limit $2 * 2
    )
    select r.tenant_id, r.task_id
    from candidates c join run_queue r on r.tenant_id = c.tenant_id and r.task_id = c.task_id
    where r.run_id is null order by c.nth, c.served, c.tenant_id limit $2 for update of r skip locked`,
};

/** What a remote worker may take: of its own tenant, agents and rings. */
const WAITING_FOR: NamedStatement = {
  name: 'waiting_runs_for',
  text: `select tenant_id, task_id from run_queue
    where run_id is null and tenant_id = $1 and agent = any($2) and ring = any($3)
      and (not_before is null or not_before <= clock_timestamp())
    order by queued_at limit $4 for update skip locked`,
};

/**
 * Tenants with waiting work and room for more of it, whose turn is next first, as far as no other claim is at the same
 * tenant. From here to the end of the transaction nobody else starts runs of theirs: a count that is read after it stays true.
 */
const LOCK_TENANTS: NamedStatement = {
  name: 'lock_tenants',
  text: `with recursive tenants as (
      (select tenant_id from run_queue where run_id is null order by tenant_id limit 1)
      union all
      select (select q.tenant_id from run_queue q where q.run_id is null and q.tenant_id > t.tenant_id
              order by q.tenant_id limit 1)
      from tenants t where t.tenant_id is not null
    ), open as materialized (
      select t.tenant_id
      from tenants t
      where exists (
          select from run_queue q
          where q.run_id is null and q.tenant_id = t.tenant_id and q.agent = any($1)
            and (q.not_before is null or q.not_before <= clock_timestamp()))
        and (select count(*) from run_queue r where r.run_id is not null and r.tenant_id = t.tenant_id) < $4
      order by t.tenant_id <= $3, t.tenant_id limit $2 * 2
    )
    select tenant_id from open where pg_try_advisory_xact_lock($5, hashtext(tenant_id))`,
};

/** The same for one tenant, once any other claim at it is over. */
const LOCK_TENANT: NamedStatement = {
  name: 'lock_tenant',
  text: 'select pg_advisory_xact_lock($2, hashtext($1))',
};

/** Waiting work of locked tenants, fair between them, and of each no more than it has room for. */
const WAITING_WITHIN: NamedStatement = {
  name: 'waiting_runs_within',
  text: `with candidates as materialized (
      select q.tenant_id, q.task_id, q.nth, q.tenant_id <= $3 as served
      from unnest($4::text[]) as t (tenant_id) cross join lateral (
        select tenant_id, task_id, row_number() over (order by queued_at) as nth
        from run_queue
        where run_id is null and tenant_id = t.tenant_id and agent = any($1)
          and ($6::text[] is null or ring = any($6))
          and (not_before is null or not_before <= clock_timestamp())
        order by queued_at limit $2
      ) q
      where q.nth <= $5 - (select count(*) from run_queue r where r.run_id is not null and r.tenant_id = t.tenant_id)
      order by q.nth, served, q.tenant_id limit $2
    )
    select r.tenant_id, r.task_id
    from candidates c join run_queue r on r.tenant_id = c.tenant_id and r.task_id = c.task_id
    where r.run_id is null order by c.nth, c.served, c.tenant_id for update of r skip locked`,
};

const ANY_WAITING: NamedStatement = {
  name: 'any_waiting',
  text: `select 1 from run_queue
    where run_id is null and agent = any($1) and (not_before is null or not_before <= clock_timestamp()) limit 1`,
};

/** Class of the advisory locks above; their second half is a hash of the tenant. */
const TENANT_LOCK = 0x61637461;

const EXPIRED: NamedStatement = {
  name: 'expired_runs',
  text: `select tenant_id, task_id from run_queue
    where run_id is not null and lease_expires_at <= clock_timestamp()
    order by lease_expires_at limit $1 for update skip locked`,
};

const OVERDUE_CANCELS: NamedStatement = {
  name: 'overdue_cancels',
  text: `select tenant_id, task_id from run_queue
    where cancel_deadline <= clock_timestamp() order by cancel_deadline limit $1 for update skip locked`,
};

/** A statement of its own, after the locks: what was read together with them could be older than the locks are. */
const HEADS: NamedStatement = {
  name: 'locked_heads',
  text: `select p.tenant_id, p.task_id, t.state, t.head_hash, k.wrapped_key
    from unnest($1::text[], $2::text[]) with ordinality as p (tenant_id, task_id, nth)
    join task t on t.tenant_id = p.tenant_id and t.task_id = p.task_id
    left join task_key k on k.tenant_id = p.tenant_id and k.task_id = p.task_id
    order by p.nth`,
};

/**
 * Locks first, and only then looks at the clock: a heartbeat that waited for a row past the end of its lease renews
 * nothing. Rows are taken in the order in which appends take them, so that the two cannot wait for each other.
 */
const HEARTBEAT: NamedStatement = {
  name: 'heartbeat',
  text: `with held as materialized (
      select q.tenant_id, q.task_id, q.lease_expires_at
      from unnest($1::text[], $2::text[], $3::text[]) as h (tenant_id, task_id, run_id)
      join run_queue q on q.tenant_id = h.tenant_id and q.task_id = h.task_id and q.run_id = h.run_id
      order by q.tenant_id collate "C", q.task_id collate "C" for update of q
    )
    update run_queue q set lease_expires_at = clock_timestamp() + $4 * interval '1 millisecond'
    from held where q.tenant_id = held.tenant_id and q.task_id = held.task_id
      and held.lease_expires_at > clock_timestamp()
    returning q.run_id, q.cancel_deadline is not null as cancel`,
};

/** The work that waits, and the leases on the work that is under way. Leases are kept by the database's clock alone. */
export class RunQueue {
  /** The tenant whose turn was last. */
  private served = '';

  /** `runningPerTenant`: runs of one tenant at a time, of all workers together; 0: as many as there are workers for. */
  constructor(
    private readonly database: Database,
    private readonly decoder: EventDecoder,
    private readonly runningPerTenant = 0,
  ) {}

  /** Runs are counted where they are claimed: none may be started past the queue. */
  get limitsTenants(): boolean {
    return this.runningPerTenant > 0;
  }

  /** Whether anything waits for these agents: cheaper than a claim where nothing does. */
  async hasWaiting(agents: readonly string[]): Promise<boolean> {
    return (await this.database.run(ANY_WAITING, [agents])).length > 0;
  }

  async waiting(agents: readonly string[], limit: number, executor: Executor): Promise<LockedTask[]> {
    const found = await (this.limitsTenants
      ? this.waitingWithin(agents, limit, executor)
      : this.locked(WAITING, [agents, limit, this.served], executor));
    this.served = found.at(-1)?.tenantId ?? this.served;
    return found;
  }

  async waitingFor(
    worker: { readonly tenantId: string; readonly agents: readonly string[]; readonly rings: readonly string[] },
    limit: number,
    executor: Executor,
  ): Promise<LockedTask[]> {
    const { tenantId, agents, rings } = worker;
    if (!this.limitsTenants) return this.locked(WAITING_FOR, [tenantId, agents, rings, limit], executor);
    await this.database.run(LOCK_TENANT, [tenantId, TENANT_LOCK], executor);
    return this.locked(WAITING_WITHIN, [agents, limit, '', [tenantId], this.runningPerTenant, rings], executor);
  }

  private async waitingWithin(agents: readonly string[], limit: number, executor: Executor): Promise<LockedTask[]> {
    const { served, runningPerTenant } = this;
    const values = [agents, limit, served, runningPerTenant, TENANT_LOCK];
    const rows = await this.database.run<{ tenant_id: string }>(LOCK_TENANTS, values, executor);
    if (rows.length === 0) return [];
    const tenants = rows.map((row) => row.tenant_id);
    return this.locked(WAITING_WITHIN, [agents, limit, served, tenants, runningPerTenant, null], executor);
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
    const rows = await this.database.run<{ run_id: string; cancel: boolean }>(HEARTBEAT, [
      runs.map((run) => run.tenantId),
      runs.map((run) => run.taskId),
      runs.map((run) => run.runId),
      leaseMs,
    ]);
    return rows.map((row) => ({ runId: row.run_id, cancel: row.cancel }));
  }

  private async locked(statement: NamedStatement, values: unknown[], executor: Executor): Promise<LockedTask[]> {
    const { database } = this;
    const rows = await database.run<{ tenant_id: string; task_id: string }>(statement, values, executor);
    if (rows.length === 0) return [];
    const keys = [rows.map((row) => row.tenant_id), rows.map((row) => row.task_id)];
    const heads = await database.run<HeadRow>(HEADS, keys, executor);
    return heads.map((row) => ({
      tenantId: row.tenant_id,
      taskId: row.task_id,
      head: this.decoder.decodeHead(row.tenant_id, row.task_id, row),
    }));
  }
}
