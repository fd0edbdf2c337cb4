import type { NamedStatement } from '@app/storage';

/**
 * Leases webhooks with a due delivery, at most one for each origin, because the caller knows only that each origin has a free
 * slot. Only the list of due webhooks is limited before they are grouped by origin. So many webhooks of one origin hide the
 * others for one claim at most.
 *
 * $1 saturated origins, $2 saturated URLs, $3 limit, $4 lease, $5 duration of the lease in milliseconds.
 */
export const CLAIM_WEBHOOKS: NamedStatement = {
  name: 'claim_webhooks',
  text: `with due as (
      select tenant_id, task_id, config_id, origin_key, next_attempt_at from push_config
      where next_attempt_at <= clock_timestamp() and not (origin_key = any($1)) and not (url_key = any($2))
      order by next_attempt_at limit 64
    ), one_each as (
      select distinct on (origin_key) tenant_id, task_id, config_id from due order by origin_key, next_attempt_at
    ), picked as materialized (
      select c.tenant_id, c.task_id, c.config_id
      from push_config c
      join one_each o on o.tenant_id = c.tenant_id and o.task_id = c.task_id and o.config_id = c.config_id
      where c.next_attempt_at <= clock_timestamp()
      order by c.next_attempt_at limit $3
      for update of c skip locked
    )
    update push_config c set lease = $4, next_attempt_at = clock_timestamp() + $5 * interval '1 millisecond'
    from picked p
    left join task_key k on k.tenant_id = p.tenant_id and k.task_id = p.task_id
    left join lateral (
      select d.version, d.attempts from push_delivery d
      where d.tenant_id = p.tenant_id and d.task_id = p.task_id and d.config_id = p.config_id and d.state = 'pending'
      order by d.version limit 1
    ) d on true
    where c.tenant_id = p.tenant_id and c.task_id = p.task_id and c.config_id = p.config_id
    returning c.tenant_id, c.task_id, c.config_id, c.protocol_version, c.sealed_target, c.origin_key, c.url_key,
      k.wrapped_key, d.version, d.attempts`,
};

/** Records the outcome of a delivery, and returns the next one. */
export const SETTLE_DELIVERY: NamedStatement = {
  name: 'settle_delivery',
  text: `select version, attempts from settle_push(p_tenant => $1, p_task => $2, p_config => $3, p_lease => $4, p_version => $5,
      p_state => $6, p_error => $7, p_wait_ms => $8, p_keep => $9, p_lease_ms => $10)`,
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
    order by d.version, d.config_id`,
};

/** Lists deliveries, newest first. $1 tenant or null, $2 task or null, $3 states, $4 limit. */
export const FIND_DELIVERIES: NamedStatement = {
  name: 'find_deliveries',
  text: `select d.* from push_delivery d
    where ($1::text is null or d.tenant_id = $1) and ($2::uuid is null or d.task_id = $2) and d.state = any($3::text[])
    order by d.created_at desc, d.tenant_id, d.task_id, d.config_id, d.version desc limit $4`,
};

/**
 * Resets dead deliveries to pending, with no attempts. It locks the webhook's row first, in the lock order of migrations/0005-webhooks.sql.
 * $1 tenant or null, $2 task or null, $3 webhook or null.
 */
export const RETRY_DEAD_DELIVERIES: NamedStatement = {
  name: 'retry_dead_deliveries',
  text: `with locked as materialized (
      select c.tenant_id, c.task_id, c.config_id from push_config c
      where ($1::text is null or c.tenant_id = $1) and ($2::uuid is null or c.task_id = $2)
        and ($3::text is null or c.config_id = $3)
        and exists (select from push_delivery d where d.tenant_id = c.tenant_id and d.task_id = c.task_id
          and d.config_id = c.config_id and d.state = 'dead')
      order by c.tenant_id, c.task_id, c.config_id for update
    ), revived as (
      update push_delivery d set state = 'pending', attempts = 0 from locked l
      where d.tenant_id = l.tenant_id and d.task_id = l.task_id and d.config_id = l.config_id and d.state = 'dead'
      returning d.*
    ), due as (
      update push_config c set next_attempt_at = case when c.lease is null then clock_timestamp() else c.next_attempt_at end
      from locked l where c.tenant_id = l.tenant_id and c.task_id = l.task_id and c.config_id = l.config_id
    )
    select * from revived order by tenant_id, task_id, config_id, version`,
};
