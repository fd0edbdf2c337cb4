import type { NamedStatement } from '@app/storage';

/** Steps from tenant to tenant along the index instead of reading every waiting row. */
const TENANTS_WITH_WAITING_RUNS = `tenants as (
      (select tenant_id from run_queue where run_id is null order by tenant_id limit 1)
      union all
      select (select q.tenant_id from run_queue q where q.run_id is null and q.tenant_id > t.tenant_id
              order by q.tenant_id limit 1)
      from tenants t where t.tenant_id is not null
    )`;

/**
 * Locks the rows of the queue and of their tasks, and skips those that another transaction has locked. An append in the same
 * transaction would wait for the task row, and the tasks of all tenants in the transaction would wait with it.
 */
const TASK_OF_ROW = 'join task t on t.tenant_id = r.tenant_id and t.task_id = r.task_id';
/** Candidates beyond the requested number, for rows that other transactions have locked. */
const SPARE = 8;
const LOCK_UNLOCKED = 'for update of r skip locked for no key update of t skip locked';

/**
 * Waiting tasks of the agents $1, fair between tenants: first the oldest task of each tenant, then the second oldest, and
 * so on. The tenants after $3, which had the last turn, come first. So a tenant with ten thousand tasks delays the single
 * task of a different tenant by one claim, even if the worker has a single slot. Ordered by age only, the tenant that
 * queued first would get every claim.
 */
export const WAITING: NamedStatement = {
  name: 'waiting_runs',
  text: `with recursive ${TENANTS_WITH_WAITING_RUNS}, candidates as materialized (
      select q.tenant_id, q.task_id, q.nth, q.tenant_id <= $3 as had_turn
      from tenants t cross join lateral (
        select tenant_id, task_id, row_number() over (order by queued_at) as nth
        from run_queue
        where run_id is null and tenant_id = t.tenant_id and agent = any($1)
          and (not_before is null or not_before <= clock_timestamp())
        order by queued_at limit $2 * 2 + ${SPARE}
      ) q
      order by q.nth, had_turn, q.tenant_id limit $2 * 2 + ${SPARE}
    )
    select r.tenant_id, r.task_id
    from candidates c join run_queue r on r.tenant_id = c.tenant_id and r.task_id = c.task_id ${TASK_OF_ROW}
    where r.run_id is null order by c.nth, c.had_turn, c.tenant_id limit $2 ${LOCK_UNLOCKED}`,
};

/** Waiting tasks for a remote worker: of its tenant, agents and rings. */
export const WAITING_FOR_WORKER: NamedStatement = {
  name: 'waiting_runs_for_worker',
  text: `select r.tenant_id, r.task_id from run_queue r ${TASK_OF_ROW}
    where r.run_id is null and r.tenant_id = $1 and r.agent = any($2) and r.ring = any($3)
      and (r.not_before is null or r.not_before <= clock_timestamp())
    order by r.queued_at limit $4 ${LOCK_UNLOCKED}`,
};

/**
 * Locks tenants that have waiting tasks and fewer active runs than $4, unless a different claim has locked them. The tenant
 * with the next turn comes first. Until the end of the transaction nobody else starts a run of these tenants, so a count
 * that is read after this statement stays correct.
 */
export const LOCK_TENANTS: NamedStatement = {
  name: 'lock_tenants',
  text: `with recursive ${TENANTS_WITH_WAITING_RUNS}, below_limit as materialized (
      select t.tenant_id
      from tenants t
      where exists (
          select from run_queue q
          where q.run_id is null and q.tenant_id = t.tenant_id and q.agent = any($1)
            and (q.not_before is null or q.not_before <= clock_timestamp()))
        and (select count(*) from run_queue r where r.run_id is not null and r.tenant_id = t.tenant_id) < $4
      order by t.tenant_id <= $3, t.tenant_id limit $2 * 2
    )
    select tenant_id from below_limit where pg_try_advisory_xact_lock($5, hashtext(tenant_id))`,
};

/** Locks one tenant. Waits until a different claim of the tenant has ended. */
export const LOCK_TENANT: NamedStatement = {
  name: 'lock_tenant',
  text: 'select pg_advisory_xact_lock($2, hashtext($1))',
};

/** Waiting tasks of the locked tenants $4, fair between them, and of each tenant at most as many as its limit $5 allows. */
export const WAITING_WITHIN_LIMIT: NamedStatement = {
  name: 'waiting_runs_within_limit',
  text: `with candidates as materialized (
      select q.tenant_id, q.task_id, q.nth, q.tenant_id <= $3 as had_turn
      from unnest($4::text[]) as t (tenant_id) cross join lateral (
        select tenant_id, task_id, row_number() over (order by queued_at) as nth
        from run_queue
        where run_id is null and tenant_id = t.tenant_id and agent = any($1)
          and ($6::text[] is null or ring = any($6))
          and (not_before is null or not_before <= clock_timestamp())
        order by queued_at limit $2 + ${SPARE}
      ) q
      where q.nth <= $5 - (select count(*) from run_queue r where r.run_id is not null and r.tenant_id = t.tenant_id)
      order by q.nth, had_turn, q.tenant_id limit $2 + ${SPARE}
    )
    select r.tenant_id, r.task_id
    from candidates c join run_queue r on r.tenant_id = c.tenant_id and r.task_id = c.task_id ${TASK_OF_ROW}
    where r.run_id is null order by c.nth, c.had_turn, c.tenant_id limit $2 ${LOCK_UNLOCKED}`,
};

export const ANY_WAITING: NamedStatement = {
  name: 'any_waiting',
  text: `select 1 from run_queue
    where run_id is null and agent = any($1) and (not_before is null or not_before <= clock_timestamp()) limit 1`,
};

export const EXPIRED: NamedStatement = {
  name: 'expired_runs',
  text: `select r.tenant_id, r.task_id from run_queue r ${TASK_OF_ROW}
    where r.run_id is not null and r.lease_expires_at <= clock_timestamp()
    order by r.lease_expires_at limit $1 ${LOCK_UNLOCKED}`,
};

export const OVERDUE_CANCELS: NamedStatement = {
  name: 'overdue_cancels',
  text: `select r.tenant_id, r.task_id from run_queue r ${TASK_OF_ROW}
    where r.cancel_deadline <= clock_timestamp() order by r.cancel_deadline limit $1 ${LOCK_UNLOCKED}`,
};

/** A separate statement after the locks, because the snapshot of the locking statement can be older than the locks. */
export const HEADS: NamedStatement = {
  name: 'locked_heads',
  text: `select p.tenant_id, p.task_id, t.state, t.head_hash, k.wrapped_key, k.key_id
    from unnest($1::text[], $2::uuid[]) with ordinality as p (tenant_id, task_id, nth)
    join task t on t.tenant_id = p.tenant_id and t.task_id = p.task_id
    left join task_key k on k.tenant_id = p.tenant_id and k.task_id = p.task_id
    order by p.nth`,
};

/**
 * Locks the rows before it reads the clock, so that a heartbeat that waited for a row until the lease had expired renews
 * nothing. It locks rows in the same order as appends do, so that the two cannot deadlock.
 */
export const HEARTBEAT: NamedStatement = {
  name: 'heartbeat',
  text: `with locked as materialized (
      select q.tenant_id, q.task_id, q.lease_expires_at
      from unnest($1::text[], $2::uuid[], $3::text[]) as h (tenant_id, task_id, run_id)
      join run_queue q on q.tenant_id = h.tenant_id and q.task_id = h.task_id and q.run_id = h.run_id
      order by q.tenant_id, q.task_id for update of q
    )
    update run_queue q set lease_expires_at = clock_timestamp() + $4 * interval '1 millisecond'
    from locked where q.tenant_id = locked.tenant_id and q.task_id = locked.task_id
      and locked.lease_expires_at > clock_timestamp()
    returning q.run_id, q.cancel_deadline is not null as cancel_requested`,
};
