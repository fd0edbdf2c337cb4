-- The webhooks and their deliveries. They are not read models: no event contains the secrets or the outcomes of deliveries,
-- so a rebuild does not change these tables.
--
-- Lock order: the row of the webhook, then its deliveries. A sender leases the row of the webhook, so that the deliveries of
-- one webhook are sent one after the other, in order.

create table push_config (
  tenant_id text collate "C" not null,
  task_id uuid not null,
  subject text collate "C" not null,
  config_id text collate "C" not null,
  protocol_version text not null,
  sealed_target bytea not null,
  origin_key bytea not null,
  url_key bytea not null,
  next_attempt_at timestamptz,
  lease uuid,
  primary key (tenant_id, task_id, subject, config_id)
);
comment on table push_config is 'The webhooks of each task.';
comment on column push_config.tenant_id is 'The tenant that owns the task.';
comment on column push_config.task_id is 'The task.';
comment on column push_config.subject is 'The user that set the webhook. Each user of a task has webhooks of its own.';
comment on column push_config.config_id is 'The webhook. Its user can choose the id.';
comment on column push_config.protocol_version is 'The A2A version of the payloads.';
comment on column push_config.sealed_target is
  'The address and the secrets, encrypted. Their key derives from the key of the task, so it is erased with the task.';
comment on column push_config.origin_key is 'A keyed hash of the tenant and the origin of the address, to limit the deliveries to one origin.';
comment on column push_config.url_key is 'A keyed hash of the tenant and the address, to limit the deliveries to one address.';
comment on column push_config.next_attempt_at is
  'When the next delivery is due, or when the lease ends, in database time. Null if no delivery is pending.';
comment on column push_config.lease is 'The sender that has leased the webhook. Null if no sender has.';

-- A claim steps from tenant to tenant along this index.
create index push_config_due on push_config (tenant_id, next_attempt_at) where next_attempt_at is not null;

create table push_delivery (
  tenant_id text collate "C" not null,
  task_id uuid not null,
  subject text collate "C" not null,
  config_id text collate "C" not null,
  version integer not null,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'dead')),
  attempts integer not null default 0,
  created_at timestamptz(3) not null default clock_timestamp(),
  last_attempt_at timestamptz(3),
  delivered_at timestamptz(3),
  last_error text,
  primary key (tenant_id, task_id, subject, config_id, version)
);
comment on table push_delivery is 'The deliveries of events to webhooks.';
comment on column push_delivery.tenant_id is 'The tenant that owns the task.';
comment on column push_delivery.task_id is 'The task.';
comment on column push_delivery.subject is 'The user that set the webhook.';
comment on column push_delivery.config_id is 'The webhook.';
comment on column push_delivery.version is 'The version of the event.';
comment on column push_delivery.state is 'Whether the delivery is pending, was accepted, or was given up.';
comment on column push_delivery.attempts is 'The number of attempts.';
comment on column push_delivery.created_at is 'When the event was recorded, in database time.';
comment on column push_delivery.last_attempt_at is 'When the last attempt ended, in database time.';
comment on column push_delivery.delivered_at is 'When the webhook accepted the delivery, in database time.';
comment on column push_delivery.last_error is
  'The error of the last attempt. It contains neither the response nor the address of the target.';

create index push_delivery_pending on push_delivery (tenant_id, task_id, subject, config_id, version) where state = 'pending';
create index push_delivery_dead on push_delivery (tenant_id, created_at) where state = 'dead';
