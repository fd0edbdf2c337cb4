import type { NamedStatement } from '@app/storage';

/** Selects the head of a stream. */
export const LOAD_HEAD: NamedStatement = {
  name: 'load_head',
  text: `select t.state, t.head_hash, k.wrapped_key, k.key_id
    from task t left join task_key k on k.tenant_id = t.tenant_id and k.task_id = t.task_id
    where t.tenant_id = $1 and t.task_id = $2`,
};

/** Selects the receipt of a caller's message. */
export const LOAD_RECEIPT: NamedStatement = {
  name: 'load_receipt',
  text: `select task_id as receipt_task, fingerprint as receipt_fingerprint from message_receipt
    where tenant_id = $1 and subject = $2 and message_id = $3`,
};

/** The columns of `StoredEvent`, for a statement in which the table `event` has the alias `e`. */
export const EVENT_COLUMNS = `e.tenant_id, e.task_id, e.version, e.event_id, e.type, e.schema_version, e.facts::text as facts, e.content,
    e.actor_subject, e.actor_role, e.command_id, e.command_fingerprint, e.causation_id, e.correlation_id,
    e.protocol_version, e.trace_parent, e.trace_state, e.recorded_at,
    e.hash_version, e.previous_hash, e.hash, e.position, e.transaction_id, e.epoch`;

/** Selects a range of one stream by version. Versions have no gaps. */
export const READ_STREAM: NamedStatement = {
  name: 'read_stream',
  text: `select ${EVENT_COLUMNS}, k.wrapped_key, k.key_id
    from event e left join task_key k on k.tenant_id = e.tenant_id and k.task_id = e.task_id
    where e.tenant_id = $1 and e.task_id = $2 and e.version > $3
    order by e.version limit $4`,
};

/** The columns of an event that a fold needs, and `decode` reads: all but the content. */
export const FACTS_COLUMNS = `version, event_id, type, schema_version, facts::text as facts, null::bytea as content,
    protocol_version, trace_parent, trace_state, recorded_at`;

/** Selects a range of one stream by version, without the content. */
export const READ_FACTS: NamedStatement = {
  name: 'read_facts',
  text: `select ${FACTS_COLUMNS} from event
    where tenant_id = $1 and task_id = $2 and version > $3 and version <= $4 order by version limit $5`,
};

/**
 * Selects the committed events of all streams by epoch, transaction and position. It omits the events of transactions
 * that are newer than the oldest active one, because a later commit could otherwise add events before those that were
 * read. Events of an earlier epoch are from a restored dump, so they are all committed.
 */
export const READ_FEED: NamedStatement = {
  name: 'read_feed',
  text: `select ${EVENT_COLUMNS}
    from event e
    where (e.epoch, e.transaction_id, e.position) > ($1, $2::xid8, $3)
      and (e.epoch < $4 or e.transaction_id < pg_snapshot_xmin(pg_current_snapshot()))
    order by e.epoch, e.transaction_id, e.position limit $5`,
};
