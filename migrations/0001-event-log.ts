import { type Kysely, sql } from 'kysely';

/** Creates the event log, the keys of its content, and the trigger that keeps the log append-only. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table server_state (
      only_row boolean primary key default true check (only_row),
      secret_fingerprint text not null,
      -- The number of clusters that have contained this database. The transaction ids in a restored dump are of an
      -- earlier epoch.
      epoch integer not null,
      system_identifier text not null
    )`.execute(db);

  await sql`
    create table event (
      tenant_id text not null,
      task_id text not null,
      version integer not null check (version > 0),
      event_id uuid not null,
      type text not null,
      schema_version smallint not null,
      -- json and not jsonb, because json keeps the text that was hashed.
      facts json not null,
      content bytea,
      actor_subject text not null,
      actor_role text not null,
      command_id text not null,
      command_fingerprint bytea not null,
      causation_id text,
      correlation_id text not null,
      protocol_version text,
      trace_parent text,
      recorded_at timestamptz(3) not null,
      previous_hash bytea not null,
      hash bytea not null,
      -- For the order of the feed. Not part of the hash.
      epoch integer not null,
      position bigint generated always as identity,
      transaction_id xid8 not null default pg_current_xact_id(),
      primary key (tenant_id, task_id, version)
    )`.execute(db);
  // With the tenant as the first column, a planner without statistics would read all events of a tenant with this index.
  await sql`create unique index event_id on event (event_id, tenant_id)`.execute(db);
  await sql`create index event_feed on event (epoch, transaction_id, position)`.execute(db);

  await sql`
    create table task_key (
      tenant_id text not null,
      task_id text not null,
      wrapped_key bytea not null,
      primary key (tenant_id, task_id)
    )`.execute(db);

  await sql`
    create function refuse_change() returns trigger language plpgsql as $$
    begin
      raise exception '% is append-only: % is refused', tg_table_name, tg_op using errcode = 'AC403';
    end $$`.execute(db);
  // A statement trigger adds no cost to inserts.
  await sql`
    create trigger event_is_append_only before update or delete or truncate on event
    for each statement execute function refuse_change()`.execute(db);
}
