import type { NamedStatement } from '@app/storage';

export const LOAD_TASKS: NamedStatement = {
  name: 'load_tasks',
  text: `select t.task_id, t.state, k.wrapped_key
    from task t left join task_key k on k.tenant_id = t.tenant_id and k.task_id = t.task_id
    where t.tenant_id = $1 and t.task_id = any($2::text[])`,
};

/**
 * What a bounded view of each task shows, in one statement for any number of tasks: the status message; of each role's
 * messages the newest, up to a count and a number of bytes; and of the newest artifacts the chunks up to a number of
 * bytes. The pointers are chosen in the read models, so that the log is read by primary key for these alone.
 *
 * $1 tenant, $2 task ids, $3 versions of the tasks, $4 versions of their status messages, $5 messages (null: no limit
 * but the bounds), $6 agent messages, $7 bytes of messages, $8 artifacts, $9 bytes of chunks.
 */
export const LOAD_CONTENT: NamedStatement = {
  name: 'load_content',
  text: `select w.task_id, p.kind, p.artifact_id, p.started_version, e.version, e.event_id, e.type, e.facts::text as facts,
      e.content, e.recorded_at, p.left_out
    from unnest($2::text[], $3::integer[], $4::integer[]) as w (task_id, version, status_message)
    cross join lateral (
      select 'status' as kind, w.status_message as version, null::text as artifact_id, null::integer as started_version,
        0::bigint as left_out
      where w.status_message is not null
      union all
      (select 'message', m.version, null, null, m.of_all - m.nth
       from (
         select version, row_number() over newest as nth, count(*) over () as of_all, sum(bytes) over newest as total,
           count(*) filter (where role = 'agent') over newest as nth_agent
         from message
         where tenant_id = $1 and task_id = w.task_id and version <= w.version
           and version is distinct from w.status_message
         window newest as (order by version desc)
       ) m
       where m.nth <= $5 and m.nth_agent <= $6 and m.total <= $7)
      union all
      (select 'chunk', c.version, c.artifact_id, c.started_version, c.left_out
       from (
         select c.version, c.artifact_id, c.started_version, a.left_out,
           sum(c.bytes) over (order by c.started_version, c.version) as total
         from (
           select artifact_id, max(started_version) as started_version, count(*) over () - $8 as left_out
           from artifact_chunk
           where tenant_id = $1 and task_id = w.task_id and version <= w.version
           group by artifact_id order by 2 desc limit $8
         ) a
         join artifact_chunk c on c.tenant_id = $1 and c.task_id = w.task_id and c.artifact_id = a.artifact_id
           and c.started_version = a.started_version and c.version <= w.version
       ) c
       where c.total <= $9)
    ) p
    join event e on e.tenant_id = $1 and e.task_id = w.task_id and e.version = p.version
    order by w.task_id, e.version`,
};
