import { type Kysely, sql } from 'kysely';

/**
 * Creates the read models: the tables that clients read and from which workers claim runs. They contain facts and
 * pointers, and no content. They can be rebuilt from the event log.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table task (
      tenant_id text not null,
      task_id text not null,
      context_id text not null,
      owner text not null,
      ring text not null,
      agent text not null,
      status text not null,
      version integer not null,
      head_hash bytea not null,
      status_at timestamptz(3) not null,
      -- The fold of the stream's facts, which is the input of decide().
      state json not null
    )`.execute(db);
  // Each index includes the filter columns of the list, so that pages and exact counts are index-only.
  await sql`create index task_of_owner on task (tenant_id, owner, status_at desc, task_id desc) include (ring, status, context_id)`.execute(
    db,
  );
  await sql`create index task_of_tenant on task (tenant_id, status_at desc, task_id desc) include (status, context_id, ring)`.execute(
    db,
  );

  // The primary key is the newest index on purpose. On a table without statistics all indexes have the same cost, and
  // the planner chooses the newest. With one of the others, a read of one task would read all tasks of its tenant.
  await sql`alter table task add primary key (tenant_id, task_id)`.execute(db);

  await sql`
    create table context (
      tenant_id text not null,
      owner text not null,
      context_id text not null,
      ring text not null,
      primary key (tenant_id, owner, context_id)
    )`.execute(db);

  await sql`
    create table message_receipt (
      tenant_id text not null,
      subject text not null,
      message_id text not null,
      task_id text not null,
      fingerprint bytea not null,
      primary key (tenant_id, subject, message_id)
    )`.execute(db);

  await sql`
    create table message (
      tenant_id text not null,
      task_id text not null,
      version integer not null,
      role text not null,
      bytes integer not null,
      primary key (tenant_id, task_id, version)
    )`.execute(db);

  await sql`
    create table artifact_chunk (
      tenant_id text not null,
      task_id text not null,
      version integer not null,
      run_id text not null,
      artifact_id text not null,
      -- The version of the first chunk of the artifact. Chunks with the same value belong together.
      started_version integer not null,
      parts integer not null,
      bytes integer not null,
      primary key (tenant_id, task_id, version)
    )`.execute(db);

  await sql`
    create table run_queue (
      tenant_id text not null,
      task_id text not null,
      agent text not null,
      ring text not null,
      dispatcher_generation integer not null,
      lease_generation integer not null,
      attempts integer not null,
      queued_at timestamptz(3) not null,
      -- Set while a retry is delayed.
      not_before timestamptz(3),
      -- Set while a run has a lease on the task.
      run_id text,
      worker text,
      lease_expires_at timestamptz,
      cancel_deadline timestamptz(3),
      primary key (tenant_id, task_id)
    ) with (fillfactor = 70)`.execute(db);
  await sql`create index run_queue_waiting on run_queue (tenant_id, agent, queued_at) where run_id is null`.execute(db);
  await sql`create index run_queue_held on run_queue (lease_expires_at) where run_id is not null`.execute(db);
  await sql`create index run_queue_cancel on run_queue (cancel_deadline) where cancel_deadline is not null`.execute(db);
}
