-- The read models: the tables that clients read and from which workers claim runs. They contain facts and pointers, and no
-- content. They can be rebuilt from the event log.

create table task (
  tenant_id text collate "C" not null,
  task_id uuid not null,
  context_id text collate "C" not null,
  owner text collate "C" not null,
  ring text collate "C" not null,
  agent text collate "C" not null,
  status text collate "C" not null,
  version integer not null,
  head_hash bytea not null,
  status_at timestamptz(3) not null,
  state json not null
);
comment on table task is 'The current state of each task.';
comment on column task.tenant_id is 'The tenant that owns the task.';
comment on column task.task_id is 'The task.';
comment on column task.context_id is 'The conversation that the task belongs to. Clients can choose it.';
comment on column task.owner is 'The subject that created the task.';
comment on column task.ring is 'The visibility group of the task.';
comment on column task.agent is 'The agent that works on the task.';
comment on column task.status is 'The status of the task, such as working or completed.';
comment on column task.version is 'The version of the last event. An append checks it.';
comment on column task.head_hash is 'The hash of the last event.';
comment on column task.status_at is 'When the status was set, in server time.';
comment on column task.state is 'The fold of the facts of the stream, which is the input of the next decision.';

-- Each index includes the filter columns of the list, so that pages and exact counts are index-only.
create index task_of_owner on task (tenant_id, owner, status_at desc, task_id desc) include (ring, status, context_id, agent);
create index task_of_tenant on task (tenant_id, status_at desc, task_id desc) include (status, context_id, ring, agent);

-- The primary key is the newest index on purpose. On a table without statistics all indexes have the same cost, and the
-- planner chooses the newest. With one of the others, a read of one task would read all tasks of its tenant.
alter table task add primary key (tenant_id, task_id);

create table context (
  tenant_id text collate "C" not null,
  owner text collate "C" not null,
  context_id text collate "C" not null,
  ring text collate "C" not null,
  primary key (tenant_id, owner, context_id)
);
comment on table context is 'The conversations of each owner. All tasks of a context are in one ring.';
comment on column context.tenant_id is 'The tenant that owns the context.';
comment on column context.owner is 'The subject that created the context.';
comment on column context.context_id is 'The id of the context. Clients can choose it, so it is unique for each owner only.';
comment on column context.ring is 'The visibility group of all tasks of the context.';

create table message_receipt (
  tenant_id text collate "C" not null,
  subject text collate "C" not null,
  message_id text collate "C" not null,
  task_id uuid not null,
  fingerprint bytea not null,
  primary key (tenant_id, subject, message_id)
);
comment on table message_receipt is 'The messages that were received. A repeated message returns the task of the first one.';
comment on column message_receipt.tenant_id is 'The tenant of the sender.';
comment on column message_receipt.subject is 'The sender.';
comment on column message_receipt.message_id is 'The id that the sender chose.';
comment on column message_receipt.task_id is 'The task that the message was added to.';
comment on column message_receipt.fingerprint is 'A keyed hash of the message. A repeated message must have the same one.';

create table message (
  tenant_id text collate "C" not null,
  task_id uuid not null,
  version integer not null,
  role text not null,
  bytes integer not null,
  primary key (tenant_id, task_id, version)
);
comment on table message is 'Pointers to the events that contain messages.';
comment on column message.tenant_id is 'The tenant that owns the task.';
comment on column message.task_id is 'The task.';
comment on column message.version is 'The version of the event.';
comment on column message.role is 'Who wrote the message: user or agent.';
comment on column message.bytes is 'The size of the message and of the metadata of its request, in bytes of JSON.';

create table artifact_chunk (
  tenant_id text collate "C" not null,
  task_id uuid not null,
  version integer not null,
  run_id text collate "C" not null,
  artifact_id text collate "C" not null,
  started_version integer not null,
  parts integer not null,
  bytes integer not null,
  primary key (tenant_id, task_id, version)
);
comment on table artifact_chunk is 'Pointers to the events that contain chunks of artifacts. Chunks of lost runs are removed.';
comment on column artifact_chunk.tenant_id is 'The tenant that owns the task.';
comment on column artifact_chunk.task_id is 'The task.';
comment on column artifact_chunk.version is 'The version of the event.';
comment on column artifact_chunk.run_id is 'The run that published the chunk.';
comment on column artifact_chunk.artifact_id is 'The artifact. Agents choose its id.';
comment on column artifact_chunk.started_version is
  'The version of the first chunk of the artifact. Chunks with the same value belong together.';
comment on column artifact_chunk.parts is 'The number of parts of the chunk.';
comment on column artifact_chunk.bytes is 'The size of the chunk in bytes of JSON.';

create table run_queue (
  tenant_id text collate "C" not null,
  task_id uuid not null,
  agent text collate "C" not null,
  ring text collate "C" not null,
  dispatcher_generation integer not null,
  lease_generation integer not null,
  attempts integer not null,
  queued_at timestamptz(3) not null,
  not_before timestamptz(3),
  run_id text collate "C",
  worker text,
  lease_expires_at timestamptz,
  cancel_deadline timestamptz(3),
  primary key (tenant_id, task_id)
) with (fillfactor = 70);
comment on table run_queue is
  'The tasks that wait for a worker or that a worker runs. Every statement locks this row before the task row.';
comment on column run_queue.tenant_id is 'The tenant that owns the task.';
comment on column run_queue.task_id is 'The task.';
comment on column run_queue.agent is 'The agent that must run the task.';
comment on column run_queue.ring is 'The visibility group of the task.';
comment on column run_queue.dispatcher_generation is 'How often the task was dispatched for execution.';
comment on column run_queue.lease_generation is 'How often the task was claimed: the fencing token of a worker.';
comment on column run_queue.attempts is 'The number of runs of the current turn.';
comment on column run_queue.queued_at is 'When the task was queued. The oldest task of a tenant is claimed first.';
comment on column run_queue.not_before is 'The time before which no worker may claim the task. Set while a retry is delayed.';
comment on column run_queue.run_id is 'The run that has the lease. Null while the task waits.';
comment on column run_queue.worker is 'The worker of that run.';
comment on column run_queue.lease_expires_at is 'The end of the lease, in database time. Heartbeats extend it.';
comment on column run_queue.cancel_deadline is
  'The time at which the task is canceled even if its worker does not respond. Set after a cancel request.';

create index run_queue_waiting on run_queue (tenant_id, agent, queued_at) where run_id is null;
create index run_queue_held on run_queue (lease_expires_at) where run_id is not null;
create index run_queue_cancel on run_queue (cancel_deadline) where cancel_deadline is not null;
