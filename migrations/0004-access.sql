-- The API keys, and the audit log of each tenant, which records the actions that are not events of a task.

create table api_key (
  tenant_id text collate "C" not null,
  key_id uuid not null,
  token_hash bytea not null,
  subject text collate "C" not null,
  role text not null check (role in ('member', 'admin', 'worker', 'metrics')),
  rings text[] not null,
  agents text[] not null,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  primary key (tenant_id, key_id)
);
comment on table api_key is 'The API keys of all tenants, including those that were revoked.';
comment on column api_key.tenant_id is 'The tenant of the key.';
comment on column api_key.key_id is 'The key.';
comment on column api_key.token_hash is
  'The SHA-256 of the token. A token is 256 random bits, so it needs no slow hash as passwords do.';
comment on column api_key.subject is 'Who uses the key.';
comment on column api_key.role is 'The rights of the key.';
comment on column api_key.rings is 'The visibility groups of the subject. The first is the ring of new tasks.';
comment on column api_key.agents is 'The agents that a worker key may run. Empty for other roles.';
comment on column api_key.created_at is 'When the key was created, in server time.';
comment on column api_key.expires_at is 'When the key expires, in server time. Null: never.';
comment on column api_key.revoked_at is 'When the key was revoked, in server time. Null: it is active.';

-- Without the tenant, because the tenant is looked up by the token.
create unique index api_key_token on api_key (token_hash);

create table audit_entry (
  tenant_id text collate "C" not null,
  entry_id uuid not null,
  type text not null,
  -- json and not jsonb, because json keeps the text that was hashed.
  facts json not null,
  actor_subject text collate "C" not null,
  actor_role text not null,
  recorded_at timestamptz(3) not null,
  hash bytea not null,
  epoch integer not null,
  position bigint generated always as identity,
  transaction_id xid8 not null default pg_current_xact_id(),
  primary key (tenant_id, entry_id)
);
comment on table audit_entry is
  'The audit log of each tenant: changes of API keys, and recorded access to tasks.';
comment on column audit_entry.tenant_id is 'The tenant that the entry concerns.';
comment on column audit_entry.entry_id is 'The entry.';
comment on column audit_entry.type is 'What happened, such as KeyCreated.';
comment on column audit_entry.facts is 'The details. Never content and never secrets.';
comment on column audit_entry.actor_subject is 'Who did it.';
comment on column audit_entry.actor_role is 'The role in which the actor did it.';
comment on column audit_entry.recorded_at is 'When it was recorded, in server time.';
comment on column audit_entry.hash is
  'The SHA-256 of this entry alone. In a hash chain, every entry would wait for the entry before it.';
comment on column audit_entry.epoch is 'The epoch of the database when the entry was inserted. Not part of the hash.';
comment on column audit_entry.position is 'The order within a transaction. Not part of the hash.';
comment on column audit_entry.transaction_id is 'The transaction that inserted the entry. Not part of the hash.';

create index audit_entry_feed on audit_entry (tenant_id, epoch, transaction_id, position);
-- For the list of the newest entries, and for the entries of one task.
create index audit_entry_of_tenant on audit_entry (tenant_id, recorded_at desc, entry_id desc);
create index audit_entry_of_task on audit_entry using gin (((facts -> 'taskIds')::jsonb)) where type = 'TaskAccessed';

create trigger audit_entry_is_append_only before update or delete or truncate on audit_entry
for each statement execute function refuse_change();
