import { FACTS_COLUMNS } from '@app/event-log';
import type { NamedStatement } from '@app/storage';

export const LIST_STREAMS: NamedStatement = {
  name: 'list_streams',
  text: `select tenant_id, task_id from event
    where (tenant_id, task_id) > ($1, $2) and version = 1
    order by tenant_id, task_id limit $3`,
};

/** Locked before the task row, as by every append. */
export const LOCK_QUEUE_ROW: NamedStatement = {
  name: 'lock_queue_row',
  text: 'select from run_queue where tenant_id = $1 and task_id = $2 for update',
};

export const LOCK_TASK_ROW: NamedStatement = {
  name: 'lock_task_row',
  text: 'select version, head_hash from task where tenant_id = $1 and task_id = $2 for update',
};

/** Reads no content: a projection needs only facts. */
export const READ_FACTS: NamedStatement = {
  name: 'read_stream_facts',
  text: `select ${FACTS_COLUMNS}, hash from event
    where tenant_id = $1 and task_id = $2 and version > $3 order by version limit $4`,
};

/** Updates the row in place, so that an append that waits for its lock finds it again. */
export const WRITE_TASK_ROW: NamedStatement = {
  name: 'write_task_row',
  text: `insert into task (tenant_id, task_id, context_id, owner, ring, agent, status, version, head_hash, status_at, state)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::json)
    on conflict (tenant_id, task_id) do update set context_id = excluded.context_id, owner = excluded.owner,
      ring = excluded.ring, agent = excluded.agent, status = excluded.status, version = excluded.version,
      head_hash = excluded.head_hash, status_at = excluded.status_at, state = excluded.state`,
};

export const WRITE_CONTEXT: NamedStatement = {
  name: 'write_context',
  text: `insert into context as c (tenant_id, owner, context_id, ring) values ($1, $2, $3, $4)
    on conflict (tenant_id, owner, context_id) do update set ring = excluded.ring where c.ring <> excluded.ring`,
};

/** A message has a receipt if its command id is derived from it. Messages to agents without idempotency have none. */
const RECEIVED = `from event where tenant_id = $1 and task_id = $2 and type = 'MessageAccepted'
      and command_id = 'message:' || actor_subject || ':' || (facts ->> 'messageId')`;

export const WRITE_RECEIPTS: NamedStatement = {
  name: 'write_receipts',
  text: `insert into message_receipt as r (tenant_id, subject, message_id, task_id, fingerprint)
    select tenant_id, actor_subject, facts ->> 'messageId', task_id, command_fingerprint ${RECEIVED}
    on conflict (tenant_id, subject, message_id) do update set task_id = excluded.task_id,
      fingerprint = excluded.fingerprint
    where (r.task_id, r.fingerprint) <> (excluded.task_id, excluded.fingerprint)`,
};

export const DELETE_POINTERS: NamedStatement = {
  name: 'delete_pointers',
  text: `with messages as (delete from message where tenant_id = $1 and task_id = $2)
    delete from artifact_chunk where tenant_id = $1 and task_id = $2`,
};

export const WRITE_READ_MODELS: NamedStatement = {
  name: 'write_read_models',
  text: 'select write_read_models(p_tenant => $1, p_task => $2, p_rows => $3, p_lease_ms => $4)',
};

/** Sets the columns that no append changes, and that `write_read_models` therefore does not update. */
export const WRITE_QUEUE_OWNER: NamedStatement = {
  name: 'write_queue_owner',
  text: `update run_queue set agent = $3, ring = $4
    where tenant_id = $1 and task_id = $2 and (agent, ring) <> ($3, $4)`,
};

/** Reads every row that is projected from one task, without the lease expiry, which no event has. */
export const PROJECTED_ROWS: NamedStatement = {
  name: 'projected_rows',
  text: `select 'task' as table_name, '' as key, to_jsonb(t) as row from task t where tenant_id = $1 and task_id = $2
    union all
    select 'context', '', to_jsonb(c) from context c
    where c.tenant_id = $1 and (c.owner, c.context_id) in (
      select e.facts ->> 'owner', e.facts ->> 'contextId' from event e
      where e.tenant_id = $1 and e.task_id = $2 and e.version = 1)
    union all
    select 'message_receipt', r.subject || ' ' || r.message_id, to_jsonb(r) from message_receipt r
    where r.tenant_id = $1 and (r.subject, r.message_id) in (select actor_subject, facts ->> 'messageId' ${RECEIVED})
    union all
    select 'run_queue', '', to_jsonb(q) - 'lease_expires_at' from run_queue q where tenant_id = $1 and task_id = $2
    union all
    select 'message', version::text, to_jsonb(m) from message m where tenant_id = $1 and task_id = $2
    union all
    select 'artifact_chunk', version::text, to_jsonb(a) from artifact_chunk a where tenant_id = $1 and task_id = $2`,
};
