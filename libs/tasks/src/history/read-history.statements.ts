import { RUN_END_EVENTS } from '@app/domain';
import type { NamedStatement } from '@app/storage';

const CONTENT = 'e.version, e.event_id, e.type, e.facts::text as facts, e.content, e.recorded_at';

export const MESSAGES: NamedStatement = {
  name: 'history_messages',
  text: `select ${CONTENT}
    from message m join event e on e.tenant_id = m.tenant_id and e.task_id = m.task_id and e.version = m.version
    where m.tenant_id = $1 and m.task_id = $2 and m.version > $3 order by m.version limit $4`,
};

export const DELIVERIES: NamedStatement = {
  name: 'history_deliveries',
  text: `select artifact_id, run_id, started_version, count(*)::integer as chunks, sum(parts)::integer as parts,
      sum(bytes)::integer as bytes, started_version = max(started_version) over (partition by artifact_id) as current
    from artifact_chunk where tenant_id = $1 and task_id = $2
    group by artifact_id, run_id, started_version
    having started_version > $3 order by started_version limit $4`,
};

/** Of the delivery that clients see: the newest start of the artifact. */
export const DELIVERY_CHUNKS: NamedStatement = {
  name: 'history_delivery_chunks',
  text: `select ${CONTENT}
    from artifact_chunk c join event e on e.tenant_id = c.tenant_id and e.task_id = c.task_id and e.version = c.version
    where c.tenant_id = $1 and c.task_id = $2 and c.artifact_id = $3 and c.version > $4
      and c.started_version = (
        select max(n.started_version) from artifact_chunk n
        where n.tenant_id = $1 and n.task_id = $2 and n.artifact_id = $3)
    order by c.version limit $5`,
};

/** A run ends with the first event after its start that ends runs. */
export const RUNS: NamedStatement = {
  name: 'history_runs',
  text: `select e.version, e.facts, e.recorded_at, ending.recorded_at as ended_at, ending.type as ending
    from event e
    left join lateral (
      select x.type, x.recorded_at from event x
      where x.tenant_id = e.tenant_id and x.task_id = e.task_id and x.version > e.version
        and x.type in (${RUN_END_EVENTS.map((type) => `'${type}'`).join(', ')})
      order by x.version limit 1
    ) ending on true
    where e.tenant_id = $1 and e.task_id = $2 and e.version > $3 and e.type = 'RunStarted'
    order by e.version limit $4`,
};
