import type { NamedStatement } from '@app/storage';

export const LOAD_TASKS: NamedStatement = {
  name: 'load_tasks',
  text: `select t.task_id, t.state, k.wrapped_key, k.key_id
    from task t left join task_key k on k.tenant_id = t.tenant_id and k.task_id = t.task_id
    where t.tenant_id = $1 and t.task_id = any($2::uuid[])`,
};

/**
 * Reads the content of bounded views for any number of tasks in one statement. The rows have a kind: `status` (the status
 * message), `message` (each other message, newest first), `artifact` (the newest artifacts, each with its size) and `chunk`
 * (of these artifacts). The read models select the versions. The event log is read by primary key, and only for content
 * that fits: not beyond $7 bytes from the newest message, $9 bytes from the oldest artifact, or $10 bytes in one event.
 *
 * $1 tenant, $2 task ids, $3 versions of the tasks, $4 versions of their status messages, $5 messages, $6 agent messages,
 * $7 bytes of messages, $8 artifacts, $9 bytes of artifacts, $10 stored bytes of one content.
 */
export const LOAD_CONTENT: NamedStatement = {
  name: 'load_content',
  text: `select w.task_id, p.kind, p.artifact_id, p.bytes, p.parts, p.total_count, e.version, e.event_id, e.type,
      e.schema_version, e.facts::text as facts, e.protocol_version, e.trace_parent, e.trace_state, e.recorded_at, octet_length(e.content) > $10 as too_large,
      case when octet_length(e.content) <= $10 then e.content end as content
    from unnest($2::uuid[], $3::integer[], $4::integer[]) as w (task_id, version, status_message)
    cross join lateral (
      select 'status' as kind, w.status_message as version, null::text as artifact_id, null::integer as started_version,
        null::bigint as bytes, null::bigint as parts, 0::bigint as total_count
      where w.status_message is not null
      union all
      (select 'message', case when m.total <= $7 then m.version end, null, null, m.bytes, null, m.total_count
       from (
         select n.*, sum(n.bytes) over (order by n.version desc) as total,
           row_number() over (order by n.version desc) as nth
         from (
           select version, role, bytes, count(*) over () as total_count,
             count(*) filter (where role = 'agent') over (order by version desc) as nth_agent
           from message
           where tenant_id = $1 and task_id = w.task_id and version <= w.version
             and version is distinct from w.status_message
         ) n
         where n.role = 'user' or n.nth_agent <= $6
       ) m
       where m.nth <= $5 and m.total - m.bytes <= $7)
      union all
      (select p.kind, p.version, a.artifact_id, a.started_version, a.bytes, a.parts, a.total_count
       from (
         select b.*, sum(b.bytes) over (order by b.started_version) as total
         from (
           select c.artifact_id, c.started_version, sum(c.bytes) as bytes, sum(c.parts) as parts, max(n.total_count) as total_count
           from (
             select artifact_id, max(started_version) as started_version, count(*) over () as total_count
             from artifact_chunk
             where tenant_id = $1 and task_id = w.task_id and version <= w.version and $8 > 0
             group by artifact_id order by 2 desc limit $8
           ) n
           join artifact_chunk c on c.tenant_id = $1 and c.task_id = w.task_id and c.artifact_id = n.artifact_id
             and c.started_version = n.started_version and c.version <= w.version
           group by c.artifact_id, c.started_version
         ) b
       ) a
       cross join lateral (
         select 'artifact' as kind, null::integer as version
         union all
         select 'chunk', c.version from artifact_chunk c
         where a.total <= $9 and c.tenant_id = $1 and c.task_id = w.task_id and c.artifact_id = a.artifact_id
           and c.started_version = a.started_version and c.version <= w.version
       ) p)
    ) p
    -- The offset keeps the planner from turning the lateral into a join over all events of the tenant, which it prefers
    -- in a database without statistics.
    left join lateral (
      select * from event x where x.tenant_id = $1 and x.task_id = w.task_id and x.version = p.version offset 0
    ) e on true
    order by w.task_id, p.started_version nulls first, e.version nulls first`,
};

/**
 * Returns the most bytes of content that a view of each task reads. Uses only the read models. Parameters 1 to 5 as above;
 * $6 whether artifacts are read.
 */
export const LOAD_SIZES: NamedStatement = {
  name: 'load_sizes',
  text: `select w.task_id,
      coalesce((select m.bytes from message m
        where m.tenant_id = $1 and m.task_id = w.task_id and m.version = w.status_message), 0)
      + coalesce((select sum(m.bytes) from (
          select bytes from message where tenant_id = $1 and task_id = w.task_id and version <= w.version
          order by version desc limit $5) m), 0)
      + coalesce((select sum(c.bytes) from artifact_chunk c
        where $6 and c.tenant_id = $1 and c.task_id = w.task_id and c.version <= w.version), 0) as bytes
    from unnest($2::uuid[], $3::integer[], $4::integer[]) as w (task_id, version, status_message)`,
};
