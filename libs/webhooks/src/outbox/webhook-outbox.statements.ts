import type { NamedStatement } from '@app/storage';

/**
 * Leases due webhooks, at most one of each tenant. Tenants take turns: those after $7, which had the last one, come first.
 * Ordered by due time alone, a tenant with many webhooks would get every slot. The statement steps from tenant to tenant along
 * push_config_due, and reads at most 10,000 due webhooks of each: if that many wait for saturated targets, those behind them wait, too.
 *
 * $1 keys of saturated origins and URLs, $2 keys of proven origins, $3 tenants that get no slot, $4 tenants that get no slot for
 * an unproven origin, $5 limit, $6 limit for unproven origins, $7 tenant, $8 lease, $9 duration of the lease in milliseconds.
 */
export const CLAIM_WEBHOOKS: NamedStatement = {
  name: 'claim_webhooks',
  text: `with recursive tenants as (
      (select tenant_id from push_config where next_attempt_at is not null order by tenant_id, next_attempt_at limit 1)
      union all
      select n.tenant_id from tenants t cross join lateral (
        select c.tenant_id from push_config c where c.next_attempt_at is not null and c.tenant_id > t.tenant_id
        order by c.tenant_id, c.next_attempt_at limit 1
      ) n
    ), candidates as materialized (
      select o.*, t.tenant_id <= $7 as had_turn,
        row_number() over (partition by o.is_proven order by t.tenant_id <= $7, t.tenant_id) as nth
      from tenants t cross join lateral (
        select d.* from (
          select c.tenant_id, c.task_id, c.subject, c.config_id, c.url_key, c.origin_key, c.next_attempt_at,
            c.origin_key in (select unnest($2::bytea[])) as is_proven
          from push_config c
          where c.tenant_id = t.tenant_id and c.next_attempt_at <= statement_timestamp()
          order by c.next_attempt_at limit 10000
        ) d
        where d.origin_key not in (select unnest($1::bytea[])) and d.url_key not in (select unnest($1::bytea[]))
          and (d.is_proven or t.tenant_id <> all($4::text[]))
        order by d.next_attempt_at limit 1
      ) o
      where t.tenant_id <> all($3::text[])
    ), picked as materialized (
      select c.tenant_id, c.task_id, c.subject, c.config_id
      from candidates o
      join push_config c on c.tenant_id = o.tenant_id and c.task_id = o.task_id and c.subject = o.subject and c.config_id = o.config_id
      where (o.is_proven or o.nth <= $6) and c.next_attempt_at <= clock_timestamp()
      order by o.had_turn, o.tenant_id limit $5
      for update of c skip locked
    )
    update push_config c set lease = $8, next_attempt_at = clock_timestamp() + $9 * interval '1 millisecond'
    from picked p
    left join task_key k on k.tenant_id = p.tenant_id and k.task_id = p.task_id
    left join lateral (
      select d.version, d.attempts from push_delivery d
      where d.tenant_id = p.tenant_id and d.task_id = p.task_id and d.subject = p.subject and d.config_id = p.config_id and d.state = 'pending'
      order by d.version limit 1
    ) d on true
    where c.tenant_id = p.tenant_id and c.task_id = p.task_id and c.subject = p.subject and c.config_id = p.config_id
    returning c.tenant_id, c.task_id, c.subject, c.config_id, c.protocol_version, c.sealed_target, c.origin_key, c.url_key,
      k.wrapped_key, k.key_id, d.version, d.attempts`,
};

/** Records the outcome of a delivery, and returns the next one. */
export const SETTLE_DELIVERY: NamedStatement = {
  name: 'settle_delivery',
  text: `select version, attempts from settle_push(p_tenant => $1, p_task => $2, p_subject => $3, p_config => $4, p_lease => $5,
      p_version => $6, p_state => $7, p_error => $8, p_wait_ms => $9, p_keep => $10, p_lease_ms => $11)`,
};

/** Locks a task in the order of every append: the row of the queue, which may be missing, then the row of the task. */
export const LOCK_QUEUE_ROW: NamedStatement = {
  name: 'lock_queue_row_of_webhook',
  text: 'select from run_queue where tenant_id = $1 and task_id = $2 for update',
};
export const LOCK_TASK_ROW: NamedStatement = {
  name: 'lock_task_row_of_webhook',
  text: 'select from task where tenant_id = $1 and task_id = $2 for update',
};

/**
 * Marks the outstanding deliveries of a webhook as dead, if the sender still has its lease, and returns them in order.
 * $1 tenant, $2 task, $3 and $4 webhook (user and id), $5 lease, $6 version of the delivery that was attempted, $7 its error, $8 the error
 * of the others.
 */
export const END_DELIVERIES: NamedStatement = {
  name: 'end_deliveries',
  text: `with locked as materialized (
      select c.tenant_id, c.task_id, c.subject, c.config_id from push_config c
      where c.tenant_id = $1 and c.task_id = $2 and c.subject = $3 and c.config_id = $4 and c.lease = $5 for update
    ), ended as (
      update push_delivery d set state = 'dead',
        attempts = d.attempts + case when d.version = $6 then 1 else 0 end,
        last_attempt_at = case when d.version = $6 then clock_timestamp() else d.last_attempt_at end,
        last_error = case when d.version = $6 then $7 else $8 end
      from locked l
      where d.tenant_id = l.tenant_id and d.task_id = l.task_id and d.subject = l.subject and d.config_id = l.config_id and d.state = 'pending'
      returning d.version, d.attempts
    )
    select version, attempts from ended order by version`,
};

/**
 * Lists the deliveries of one task by pages of versions, so that all deliveries of one version are on one page.
 * $1 tenant, $2 task, $3 version after which the page begins, $4 number of versions.
 */
export const LIST_TASK_DELIVERIES: NamedStatement = {
  name: 'list_task_deliveries',
  text: `select d.* from push_delivery d
    where d.tenant_id = $1 and d.task_id = $2 and d.version in (
      select distinct version from push_delivery
      where tenant_id = $1 and task_id = $2 and version > $3 order by version limit $4)
    order by d.version, d.subject, d.config_id`,
};

/** Lists deliveries, newest first. $1 tenant or null, $2 task or null, $3 states, $4 limit. */
export const FIND_DELIVERIES: NamedStatement = {
  name: 'find_deliveries',
  text: `select d.* from push_delivery d
    where ($1::text is null or d.tenant_id = $1) and ($2::uuid is null or d.task_id = $2) and d.state = any($3::text[])
      and ($4::text is null or d.config_id = $4)
    order by d.created_at desc, d.tenant_id, d.task_id, d.subject, d.config_id, d.version desc limit $5`,
};

/**
 * Resets dead deliveries to pending, with no attempts. It locks the webhook's row first, in the lock order of migrations/0005-webhooks.sql.
 * $1 tenant or null, $2 task or null, $3 webhook or null.
 */
export const RETRY_DEAD_DELIVERIES: NamedStatement = {
  name: 'retry_dead_deliveries',
  text: `with locked as materialized (
      select c.tenant_id, c.task_id, c.subject, c.config_id from push_config c
      where ($1::text is null or c.tenant_id = $1) and ($2::uuid is null or c.task_id = $2)
        and ($3::text is null or c.config_id = $3)
        and exists (select from push_delivery d where d.tenant_id = c.tenant_id and d.task_id = c.task_id
          and d.subject = c.subject and d.config_id = c.config_id and d.state = 'dead')
      order by c.tenant_id, c.task_id, c.subject, c.config_id for update
    ), revived as (
      update push_delivery d set state = 'pending', attempts = 0 from locked l
      where d.tenant_id = l.tenant_id and d.task_id = l.task_id and d.subject = l.subject and d.config_id = l.config_id and d.state = 'dead'
      returning d.*
    ), due as (
      update push_config c set next_attempt_at = case when c.lease is null then clock_timestamp() else c.next_attempt_at end
      from locked l where c.tenant_id = l.tenant_id and c.task_id = l.task_id and c.subject = l.subject and c.config_id = l.config_id
    )
    select * from revived order by tenant_id, task_id, subject, config_id, version`,
};
