-- Records the outcome of one delivery, if the sender still has the lease. Returns the next pending version, which the sender
-- continues with. With p_keep = false it releases the webhook instead; the next attempt is due after p_wait_ms.
create or replace function settle_push(p_tenant text, p_task uuid, p_subject text, p_config text, p_lease uuid, p_version integer,
  p_state text, p_error text, p_wait_ms integer, p_keep boolean, p_lease_ms integer)
returns table (version integer, attempts integer) language plpgsql as $$
#variable_conflict use_column
declare
  following record;
begin
  -- A separate statement locks the row, so that the next statement finds the deliveries of every append before it.
  perform 1 from push_config c
  where c.tenant_id = p_tenant and c.task_id = p_task and c.subject = p_subject and c.config_id = p_config and c.lease = p_lease for update;
  if not found then
    return;
  end if;

  if p_state is not null then
    update push_delivery d set state = p_state, attempts = d.attempts + 1, last_error = p_error,
      last_attempt_at = clock_timestamp(), delivered_at = case when p_state = 'delivered' then clock_timestamp() end
    where d.tenant_id = p_tenant and d.task_id = p_task and d.subject = p_subject and d.config_id = p_config and d.version = p_version
      and d.state = 'pending';
  end if;

  select d.version, d.attempts into following from push_delivery d
  where d.tenant_id = p_tenant and d.task_id = p_task and d.subject = p_subject and d.config_id = p_config and d.state = 'pending'
  order by d.version limit 1;
  if not found then
    update push_config c set next_attempt_at = null, lease = null
    where c.tenant_id = p_tenant and c.task_id = p_task and c.subject = p_subject and c.config_id = p_config;
  elsif p_keep then
    update push_config c set next_attempt_at = clock_timestamp() + p_lease_ms * interval '1 millisecond'
    where c.tenant_id = p_tenant and c.task_id = p_task and c.subject = p_subject and c.config_id = p_config;
    return query select following.version, following.attempts;
  else
    update push_config c set next_attempt_at = clock_timestamp() + p_wait_ms * interval '1 millisecond', lease = null
    where c.tenant_id = p_tenant and c.task_id = p_task and c.subject = p_subject and c.config_id = p_config;
  end if;
end $$;
