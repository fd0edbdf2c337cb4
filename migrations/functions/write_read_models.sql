-- Updates the read models of one task after an append or for a rebuild. `p_rows` is a ReadModelRows object.
create or replace function write_read_models(p_tenant text, p_task uuid, p_rows jsonb, p_lease_ms integer)
returns void language plpgsql as $$
declare
  q jsonb := p_rows -> 'queue';
begin
  if p_rows ? 'messages' then
    insert into message (tenant_id, task_id, version, role, bytes)
    select p_tenant, p_task, m.version, m.role, m.bytes
    from jsonb_to_recordset(p_rows -> 'messages') as m (version integer, role text, bytes integer);
  end if;

  if p_rows ? 'lostRuns' then
    delete from artifact_chunk c
    where c.tenant_id = p_tenant and c.task_id = p_task and p_rows -> 'lostRuns' ? c.run_id;
  end if;

  if p_rows ? 'chunks' then
    insert into artifact_chunk (tenant_id, task_id, version, run_id, artifact_id, started_version, parts, bytes)
    select p_tenant, p_task, c.version, c.run_id, c.artifact_id,
      -- An appended chunk belongs to the newest start of its artifact, in this call or in an earlier one.
      case when c.append then coalesce(
        (select max(s.version) from jsonb_to_recordset(p_rows -> 'chunks')
           as s (version integer, run_id text, artifact_id text, append boolean)
         where s.artifact_id = c.artifact_id and s.run_id = c.run_id and not s.append and s.version < c.version),
        (select max(s.started_version) from artifact_chunk s
         where s.tenant_id = p_tenant and s.task_id = p_task and s.run_id = c.run_id and s.artifact_id = c.artifact_id))
      else c.version end,
      c.parts, c.bytes
    from jsonb_to_recordset(p_rows -> 'chunks')
      as c (version integer, run_id text, artifact_id text, append boolean, parts integer, bytes integer);
  end if;

  if q is null or q = 'null'::jsonb then
    delete from run_queue where tenant_id = p_tenant and task_id = p_task;
  else
    insert into run_queue as r (tenant_id, task_id, agent, ring, dispatcher_generation, lease_generation, attempts,
      queued_at, not_before, run_id, worker, lease_expires_at, cancel_deadline)
    values (p_tenant, p_task, q ->> 'agent', q ->> 'ring', (q ->> 'dispatcherGeneration')::integer,
      (q ->> 'leaseGeneration')::integer, (q ->> 'attempts')::integer,
      (q ->> 'queuedAt')::timestamptz, (q ->> 'notBefore')::timestamptz,
      q ->> 'runId', q ->> 'worker',
      case when q ->> 'runId' is not null then clock_timestamp() + p_lease_ms * interval '1 millisecond' end,
      (q ->> 'cancelDeadline')::timestamptz)
    on conflict (tenant_id, task_id) do update set
      dispatcher_generation = excluded.dispatcher_generation,
      lease_generation = excluded.lease_generation,
      attempts = excluded.attempts,
      queued_at = excluded.queued_at,
      not_before = excluded.not_before,
      run_id = excluded.run_id,
      worker = excluded.worker,
      -- A lease starts with its run. After that, only heartbeats extend it.
      lease_expires_at = case when r.run_id is not distinct from excluded.run_id then r.lease_expires_at
        else excluded.lease_expires_at end,
      cancel_deadline = excluded.cancel_deadline;
  end if;
end $$;
