-- The event log, the keys of its content, and the trigger that keeps the log append-only.

create table server_state (
  only_row boolean primary key default true check (only_row),
  secret_fingerprint text not null,
  epoch integer not null,
  system_identifier text not null
);
comment on table server_state is 'What all servers of this database have in common. One row, which the first server inserts.';
comment on column server_state.only_row is 'Always true, so that the table has at most one row.';
comment on column server_state.secret_fingerprint is
  'A keyed hash of ACTA_SECRET_KEY. A server with a different secret refuses to start.';
comment on column server_state.epoch is
  'The number of clusters that have contained this database. The transaction ids in a restored dump are of an earlier epoch.';
comment on column server_state.system_identifier is
  'The identifier of the cluster that contains this database. A different one starts the next epoch.';

create table server_key (
  purpose text collate "C" primary key,
  key_id text not null,
  wrapped_key bytea not null
);
comment on table server_key is
  'Random keys that all servers of this database share. The first server inserts them. A new secret wraps them again and does not change them.';
comment on column server_key.purpose is
  'What the key is for: ids derives the ids of tasks and contexts, fingerprints the fingerprints of messages and commands.';
comment on column server_key.key_id is 'The secret that wrapped the key. It derives from the secret.';
comment on column server_key.wrapped_key is 'The key, encrypted with a key that derives from the secret.';

create table event (
  tenant_id text collate "C" not null,
  task_id uuid not null,
  version integer not null check (version > 0),
  event_id uuid not null,
  type text not null,
  schema_version smallint not null,
  -- json and not jsonb, because json keeps the text that was hashed.
  facts json not null,
  content bytea,
  actor_subject text collate "C" not null,
  actor_role text not null,
  command_id text not null,
  command_fingerprint bytea not null,
  causation_id uuid,
  correlation_id text not null,
  protocol_version text,
  trace_parent text,
  trace_state text,
  recorded_at timestamptz(3) not null,
  hash_version smallint not null,
  previous_hash bytea not null,
  hash bytea not null,
  epoch integer not null,
  position bigint generated always as identity,
  transaction_id xid8 not null default pg_current_xact_id(),
  primary key (tenant_id, task_id, version)
);
comment on table event is
  'The event log. Only append_events inserts rows. The hash of an event covers all columns except the last three.';
comment on column event.tenant_id is 'The tenant that owns the task.';
comment on column event.task_id is 'The task. Its events are one stream.';
comment on column event.version is 'The position in the stream. It starts at 1 and has no gaps.';
comment on column event.event_id is
  'Derived from tenant, task, command and position in the command, so that a repeated command cannot be recorded twice.';
comment on column event.type is 'What happened, such as TaskSubmitted.';
comment on column event.schema_version is
  'The version of the layout of facts and content of this type. Programs convert older versions when they read them.';
comment on column event.facts is 'What Acta decided: states, ids and sizes. Never content and never secrets.';
comment on column event.content is
  'What people and agents wrote, encrypted with the key of the task and bound to event_id. Null if the event has none.';
comment on column event.actor_subject is 'Who caused the event.';
comment on column event.actor_role is 'The role in which the actor caused the event.';
comment on column event.command_id is 'The command that recorded the event, with the other events of the same command.';
comment on column event.command_fingerprint is
  'A keyed hash of the payload of the command. A repeated command must have the same one.';
comment on column event.causation_id is
  'The event that caused this one: the start of its run, what queued the run, or the cancel request. Null if a client''s command caused it.';
comment on column event.correlation_id is 'The context of the task.';
comment on column event.protocol_version is 'The A2A version of the request. Null if no request caused the event.';
comment on column event.trace_parent is
  'The header traceparent of the request (W3C trace context); of an event of a run, that of the request that the run executes. Null if it had none.';
comment on column event.trace_state is 'The header tracestate of the same request. Null if it had none.';
comment on column event.recorded_at is 'When the server decided the event, in server time. It never decreases in a stream.';
comment on column event.hash_version is 'The version of the layout of the hashed bytes, which start with it.';
comment on column event.previous_hash is 'The hash of the previous event of the stream. 32 zero bytes for the first event.';
comment on column event.hash is 'The SHA-256 of hash_version, previous_hash and the stored bytes of the other hashed columns.';
comment on column event.epoch is 'The epoch of the database when the event was inserted. The feed is ordered by epoch first.';
comment on column event.position is 'The order within a transaction, for the feed.';
comment on column event.transaction_id is
  'The transaction that inserted the event. The feed is read below the oldest active transaction, so that it skips nothing.';

-- With the tenant as the first column, a planner without statistics would read all events of a tenant with this index.
create unique index event_id on event (event_id, tenant_id);
create index event_feed on event (epoch, transaction_id, position);

create table task_key (
  tenant_id text collate "C" not null,
  task_id uuid not null,
  key_id text not null,
  wrapped_key bytea not null,
  primary key (tenant_id, task_id)
);
comment on table task_key is 'The key of the content of each task. Without its row, the content of a task cannot be read.';
comment on column task_key.tenant_id is 'The tenant that owns the task.';
comment on column task_key.task_id is 'The task.';
comment on column task_key.key_id is 'The secret that wrapped the key. It derives from the secret.';
comment on column task_key.wrapped_key is 'The key of the task, encrypted with a key that derives from the server''s secret.';

-- A statement trigger adds no cost to inserts.
create trigger event_is_append_only before update or delete or truncate on event
for each statement execute function refuse_change();
