-- Writes the webhooks and the pending deliveries of one append. append_events calls it. `p_pushes` is an encrypted
-- WebhookRows object.
create or replace function write_pushes(p_tenant text, p_task uuid, p_pushes jsonb) returns void language plpgsql as $$
begin
  if p_pushes ? 'set' then
    insert into push_config as c (tenant_id, task_id, subject, config_id, protocol_version, sealed_target, origin_key, url_key)
    select p_tenant, p_task, s.subject, s.config_id, s.protocol_version, decode(s.sealed_target, 'base64'),
      decode(s.origin_key, 'base64'), decode(s.url_key, 'base64')
    from jsonb_to_record(p_pushes -> 'set')
      as s (subject text, config_id text, protocol_version text, sealed_target text, origin_key text, url_key text)
    on conflict (tenant_id, task_id, subject, config_id) do update set
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
    using jsonb_to_recordset(p_pushes -> 'deleted') as x (subject text, config_id text)
    where c.tenant_id = p_tenant and c.task_id = p_task and c.subject = x.subject and c.config_id = x.config_id;
    delete from push_delivery d
    using jsonb_to_recordset(p_pushes -> 'deleted') as x (subject text, config_id text)
    where d.tenant_id = p_tenant and d.task_id = p_task and d.subject = x.subject and d.config_id = x.config_id
      and d.state <> 'delivered';
  end if;

  -- The sender has marked the outstanding deliveries as dead. They stay, to show why the webhook was retired.
  if p_pushes ? 'retired' then
    delete from push_config c
    using jsonb_to_recordset(p_pushes -> 'retired') as x (subject text, config_id text)
    where c.tenant_id = p_tenant and c.task_id = p_task and c.subject = x.subject and c.config_id = x.config_id;
  end if;

  if p_pushes ? 'deliveries' then
    insert into push_delivery (tenant_id, task_id, subject, config_id, version)
    select p_tenant, p_task, d.subject, d.config_id, d.version
    from jsonb_to_recordset(p_pushes -> 'deliveries') as d (subject text, config_id text, version integer)
    on conflict do nothing;
    update push_config c set next_attempt_at = coalesce(c.next_attempt_at, clock_timestamp())
    where c.tenant_id = p_tenant and c.task_id = p_task
      and exists (select from jsonb_to_recordset(p_pushes -> 'deliveries') as d (subject text, config_id text)
        where d.subject = c.subject and d.config_id = c.config_id);
  end if;
end $$;
