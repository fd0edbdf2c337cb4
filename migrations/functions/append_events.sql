-- Appends events to one stream and updates its read models. It is the only function that inserts events. An append is one
-- call and one round trip, and shares its transaction with appends of other tenants. So every rejection is an outcome and no
-- error, and nothing of a rejected append stays stored.
--
-- Lock order in all statements: the queue row, then the task row. A claim locks queue rows before it appends, so it could
-- deadlock with an append that locks the task row first.
--
-- A lock that another transaction holds for longer than lock_timeout (in milliseconds) ends the statement, because the other
-- appends of the transaction wait for it, too.
create or replace function append_events(
  p_tenant text, p_task uuid, p_expected integer,
  p_fence_run text, p_fence_lease integer, p_fence_dispatcher integer,
  p_receipt_subject text, p_receipt_message text,
  p_context text, p_owner text, p_ring text, p_agent text, p_key_id text, p_wrapped_key bytea,
  p_actor_subject text, p_actor_role text, p_command text, p_fingerprint bytea,
  p_protocol text, p_trace_parent text, p_trace_state text, p_recorded_at timestamptz, p_epoch integer,
  p_event_ids uuid[], p_types text[], p_schemas smallint[], p_facts text[], p_contents bytea[], p_causes uuid[],
  p_hash_version smallint, p_previous_hash bytea, p_hashes bytea[],
  p_status text, p_status_at timestamptz, p_state text, p_rows jsonb, p_lease_ms integer, p_pushes jsonb)
returns table (outcome text, receipt_task uuid, recorded_fingerprint bytea) language plpgsql set lock_timeout = 500 as $$
declare
  n integer := cardinality(p_event_ids);
  held record;
  starts_context boolean := false;
begin
  -- 1. Check the fence. The row lock also serializes this append with claims and with the lease reaper.
  if p_expected > 0 then
    select run_id, lease_generation, dispatcher_generation, lease_expires_at into held
    from run_queue where tenant_id = p_tenant and task_id = p_task for update;
    if p_fence_run is not null and (held is null or held.run_id is distinct from p_fence_run
        or held.lease_generation <> p_fence_lease or held.dispatcher_generation <> p_fence_dispatcher
        or held.lease_expires_at <= clock_timestamp()) then
      return query select 'fenced', null::uuid, null::bytea;
      return;
    end if;
  end if;

  -- 2. Check the expected version, before the first write. The append of a run needs no lock: it holds that of the queue row.
  if p_expected > 0 and p_fence_run is null then
    perform from task where tenant_id = p_tenant and task_id = p_task and version = p_expected for no key update;
    if not found then
      return query select 'received', r.task_id, r.fingerprint from message_receipt r
      where r.tenant_id = p_tenant and r.subject = p_receipt_subject and r.message_id = p_receipt_message;
      if not found then
        return query select 'conflict', null::uuid, null::bytea;
      end if;
      return;
    end if;
    -- With the version, no concurrent append can record the same command. The writes of a run are repeated under their number.
    return query select 'recorded', null::uuid, e.command_fingerprint from event e
    where e.event_id = p_event_ids[1] and e.tenant_id = p_tenant;
    if found then
      return;
    end if;
  end if;

  -- 3. Check the context of a new task. An existing context is not locked, so that concurrent new tasks in it do not wait for
  -- each other.
  if p_expected = 0 then
    insert into context (tenant_id, owner, context_id, ring) values (p_tenant, p_owner, p_context, p_ring)
    on conflict do nothing;
    starts_context := found;
    if not found and not exists (select from context
        where tenant_id = p_tenant and owner = p_owner and context_id = p_context and ring = p_ring) then
      return query select 'received', r.task_id, r.fingerprint from message_receipt r
      where r.tenant_id = p_tenant and r.subject = p_receipt_subject and r.message_id = p_receipt_message;
      if not found then
        return query select 'other-ring', null::uuid, null::bytea;
      end if;
      return;
    end if;
  end if;

  -- 4. Store the receipt. The first append of a message succeeds; this insert waits for a concurrent append of the same
  -- message.
  if p_receipt_message is not null then
    insert into message_receipt (tenant_id, subject, message_id, task_id, fingerprint)
    values (p_tenant, p_receipt_subject, p_receipt_message, p_task, p_fingerprint)
    on conflict do nothing;
    if not found then
      if starts_context then
        delete from context where tenant_id = p_tenant and owner = p_owner and context_id = p_context;
      end if;
      return query select 'received', r.task_id, r.fingerprint from message_receipt r
      where r.tenant_id = p_tenant and r.subject = p_receipt_subject and r.message_id = p_receipt_message;
      return;
    end if;
  end if;

  -- 5. Write the task row. Only the creation of the same task and the append of a run can still be rejected here.
  if p_expected = 0 then
    insert into task (tenant_id, task_id, context_id, owner, ring, agent, status, version, head_hash, status_at, state)
    values (p_tenant, p_task, p_context, p_owner, p_ring, p_agent, p_status, n, p_hashes[n], p_status_at, p_state::json)
    on conflict do nothing;
  else
    update task set status = p_status, version = p_expected + n, head_hash = p_hashes[n], status_at = p_status_at,
      state = p_state::json
    where tenant_id = p_tenant and task_id = p_task and version = p_expected;
  end if;
  if not found then
    if starts_context then
      delete from context where tenant_id = p_tenant and owner = p_owner and context_id = p_context;
    end if;
    delete from message_receipt
    where tenant_id = p_tenant and subject = p_receipt_subject and message_id = p_receipt_message;
    return query select 'conflict', null::uuid, null::bytea;
    return;
  end if;
  if p_expected = 0 then
    insert into task_key (tenant_id, task_id, key_id, wrapped_key) values (p_tenant, p_task, p_key_id, p_wrapped_key);
  end if;

  -- 6. Insert the events, in order.
  insert into event (tenant_id, task_id, version, event_id, type, schema_version, facts, content, actor_subject,
    actor_role, command_id, command_fingerprint, causation_id, correlation_id, protocol_version, trace_parent,
    trace_state, recorded_at, hash_version, previous_hash, hash, epoch)
  select p_tenant, p_task, p_expected + e.i, e.event_id, e.type, e.schema, e.facts::json, e.content, p_actor_subject,
    p_actor_role, p_command, p_fingerprint, e.cause, p_context, p_protocol, p_trace_parent,
    p_trace_state, p_recorded_at, p_hash_version, case when e.i = 1 then p_previous_hash else p_hashes[e.i - 1] end,
    e.hash, p_epoch
  from unnest(p_event_ids, p_types, p_schemas, p_facts, p_contents, p_causes, p_hashes)
    with ordinality as e (event_id, type, schema, facts, content, cause, hash, i)
  order by e.i;

  -- 7. Update the read models.
  perform write_read_models(p_tenant, p_task, p_rows, p_lease_ms);

  -- 8. Write the webhooks and their deliveries. The argument is null for a task without webhooks.
  if p_pushes is not null then
    perform write_pushes(p_tenant, p_task, p_pushes);
  end if;
  return query select 'appended', null::uuid, null::bytea;
end $$;
