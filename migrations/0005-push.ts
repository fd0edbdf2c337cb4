import { type Kysely, sql } from 'kysely';

/**
 * Creates the webhooks and their deliveries. They are not read models: no event contains the secrets or the outcomes of
 * deliveries, so a rebuild does not change these tables.
 *
 * Lock order: the row of the webhook, then its deliveries. A sender leases the row of the webhook, so that the
 * deliveries of one webhook are sent one after the other, in order.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table push_config (
      tenant_id text not null,
      task_id text not null,
      config_id text not null,
      protocol_version text not null,
      -- The address and the secrets. Their key derives from the task's key, so it is erased with the task.
      sealed_target bytea not null,
      -- Keyed hashes of the address. Senders compare them to find webhooks with the same target.
      origin_key bytea not null,
      url_key bytea not null,
      -- Null if no delivery is pending. While the webhook is leased: the time at which the lease expires.
      next_attempt_at timestamptz,
      lease uuid,
      primary key (tenant_id, task_id, config_id)
    )`.execute(db);
  await sql`create index push_config_due on push_config (next_attempt_at) where next_attempt_at is not null`.execute(
    db,
  );

  await sql`
    create table push_delivery (
      tenant_id text not null,
      task_id text not null,
      config_id text not null,
      -- The version of the event.
      version integer not null,
      state text not null default 'pending' check (state in ('pending', 'delivered', 'dead')),
      attempts integer not null default 0,
      created_at timestamptz(3) not null default clock_timestamp(),
      last_attempt_at timestamptz(3),
      delivered_at timestamptz(3),
      -- The error of the last attempt. It contains neither the response nor the address of the target.
      last_error text,
      primary key (tenant_id, task_id, config_id, version)
    )`.execute(db);
  await sql`create index push_delivery_pending on push_delivery (tenant_id, task_id, config_id, version) where state = 'pending'`.execute(
    db,
  );
  await sql`create index push_delivery_dead on push_delivery (tenant_id, created_at) where state = 'dead'`.execute(db);

  // Called by append_events, in its transaction.
  await sql`
    create function write_pushes(p_tenant text, p_task text, p_pushes jsonb) returns void language plpgsql as $$
    begin
      if p_pushes ? 'set' then
        insert into push_config as c (tenant_id, task_id, config_id, protocol_version, sealed_target, origin_key, url_key)
        select p_tenant, p_task, s.config_id, s.protocol_version, decode(s.sealed_target, 'base64'),
          decode(s.origin_key, 'base64'), decode(s.url_key, 'base64')
        from jsonb_to_record(p_pushes -> 'set')
          as s (config_id text, protocol_version text, sealed_target text, origin_key text, url_key text)
        on conflict (tenant_id, task_id, config_id) do update set
          protocol_version = excluded.protocol_version,
          sealed_target = excluded.sealed_target,
          origin_key = excluded.origin_key,
          url_key = excluded.url_key,
          -- Pending deliveries are sent to the new address immediately. A sender that uses the old one loses its lease.
          next_attempt_at = case when c.next_attempt_at is not null then clock_timestamp() end,
          lease = null;
      end if;

      if p_pushes ? 'deleted' then
        delete from push_config c
        where c.tenant_id = p_tenant and c.task_id = p_task and p_pushes -> 'deleted' ? c.config_id;
        delete from push_delivery d
        where d.tenant_id = p_tenant and d.task_id = p_task and p_pushes -> 'deleted' ? d.config_id
          and d.state <> 'delivered';
      end if;

      if p_pushes ? 'deliveries' then
        insert into push_delivery (tenant_id, task_id, config_id, version)
        select p_tenant, p_task, d.config_id, d.version
        from jsonb_to_recordset(p_pushes -> 'deliveries') as d (config_id text, version integer)
        on conflict do nothing;
        update push_config c set next_attempt_at = coalesce(c.next_attempt_at, clock_timestamp())
        where c.tenant_id = p_tenant and c.task_id = p_task
          and exists (select from jsonb_to_recordset(p_pushes -> 'deliveries') as d (config_id text)
            where d.config_id = c.config_id);
      end if;
    end $$`.execute(db);

  /*
   * Records the outcome of one delivery, if the sender still has the lease. Returns the next pending version, which the
   * sender continues with. With p_keep = false it releases the webhook instead; the next attempt is due after
   * p_wait_ms. A separate statement locks the row, so that the next statement finds the deliveries of every append
   * before it.
   */
  await sql`
    create function settle_push(p_tenant text, p_task text, p_config text, p_lease uuid, p_version integer,
      p_state text, p_error text, p_wait_ms integer, p_keep boolean, p_lease_ms integer)
    returns table (version integer, attempts integer) language plpgsql as $$
    #variable_conflict use_column
    declare
      following record;
    begin
      perform 1 from push_config c
      where c.tenant_id = p_tenant and c.task_id = p_task and c.config_id = p_config and c.lease = p_lease for update;
      if not found then
        return;
      end if;

      if p_state is not null then
        update push_delivery d set state = p_state, attempts = d.attempts + 1, last_error = p_error,
          last_attempt_at = clock_timestamp(), delivered_at = case when p_state = 'delivered' then clock_timestamp() end
        where d.tenant_id = p_tenant and d.task_id = p_task and d.config_id = p_config and d.version = p_version
          and d.state = 'pending';
      end if;

      select d.version, d.attempts into following from push_delivery d
      where d.tenant_id = p_tenant and d.task_id = p_task and d.config_id = p_config and d.state = 'pending'
      order by d.version limit 1;
      if not found then
        update push_config c set next_attempt_at = null, lease = null
        where c.tenant_id = p_tenant and c.task_id = p_task and c.config_id = p_config;
      elsif p_keep then
        update push_config c set next_attempt_at = clock_timestamp() + p_lease_ms * interval '1 millisecond'
        where c.tenant_id = p_tenant and c.task_id = p_task and c.config_id = p_config;
        return query select following.version, following.attempts;
      else
        update push_config c set next_attempt_at = clock_timestamp() + p_wait_ms * interval '1 millisecond', lease = null
        where c.tenant_id = p_tenant and c.task_id = p_task and c.config_id = p_config;
      end if;
    end $$`.execute(db);
}
