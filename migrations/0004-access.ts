import { type Kysely, sql } from 'kysely';

/** Creates the API keys, and the audit log of each tenant, which records the actions that are not events of a task. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table api_key (
      tenant_id text not null,
      key_id uuid not null,
      -- SHA-256. Passwords need a slow, salted hash. A token is 256 random bits, so it cannot be guessed.
      token_hash bytea not null,
      subject text not null,
      role text not null check (role in ('member', 'admin', 'worker')),
      -- In the order of the credential. The first is the ring of new tasks.
      rings text[] not null,
      agents text[] not null,
      created_at timestamptz(3) not null,
      expires_at timestamptz(3),
      revoked_at timestamptz(3),
      primary key (tenant_id, key_id)
    )`.execute(db);
  // Without the tenant, because the tenant is looked up by the token.
  await sql`create unique index api_key_token on api_key (token_hash)`.execute(db);

  await sql`
    create table audit_entry (
      tenant_id text not null,
      entry_id uuid not null,
      type text not null,
      -- json and not jsonb, because json keeps the text that was hashed.
      facts json not null,
      actor_subject text not null,
      actor_role text not null,
      recorded_at timestamptz(3) not null,
      -- The hash of this entry alone. In a hash chain every entry would wait for the entry before it, and reads of
      -- other users' tasks are entries.
      hash bytea not null,
      -- For the order of the log. Not part of the hash.
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
