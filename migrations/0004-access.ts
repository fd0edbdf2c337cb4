import { type Kysely, sql } from 'kysely';

/** API keys, and the audit log of each tenant: what happened in it beside its tasks. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table api_key (
      tenant_id text not null,
      key_id uuid not null,
      -- SHA-256. A slow, salted hash is for what people choose: a token is 256 random bits, which nobody can guess or tabulate.
      token_hash bytea not null,
      subject text not null,
      role text not null check (role in ('member', 'admin', 'worker')),
      -- In the order of the credential: the first is the ring of new tasks.
      rings text[] not null,
      agents text[] not null,
      created_at timestamptz(3) not null,
      expires_at timestamptz(3),
      revoked_at timestamptz(3),
      primary key (tenant_id, key_id)
    )`.execute(db);
  // Across tenants, because a token is what tells the tenant.
  await sql`create unique index api_key_token on api_key (token_hash)`.execute(db);

  await sql`
    create table audit_entry (
      tenant_id text not null,
      entry_id uuid not null,
      type text not null,
      -- json, not jsonb: the text is hashed as it was written.
      facts json not null,
      actor_subject text not null,
      actor_role text not null,
      recorded_at timestamptz(3) not null,
      -- Over the stored bytes of this entry alone. In a chain each entry would wait for the one before, and reads of other
      -- people's tasks are entries.
      hash bytea not null,
      -- Transport only, outside the hash.
      epoch integer not null,
      position bigint generated always as identity,
      transaction_id xid8 not null default pg_current_xact_id(),
      primary key (tenant_id, entry_id)
    )`.execute(db);
  await sql`create index audit_entry_feed on audit_entry (tenant_id, epoch, transaction_id, position)`.execute(db);
  await sql`
    create trigger audit_entry_is_append_only before update or delete or truncate on audit_entry
    for each statement execute function refuse_change()`.execute(db);
}
