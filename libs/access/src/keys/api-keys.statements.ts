import type { NamedStatement, Schema } from '@app/storage';
import type { Selectable } from 'kysely';

export type ApiKeyRow = Selectable<Schema['api_key']>;

export const INSERT_KEY: NamedStatement = {
  name: 'insert_api_key',
  text: `insert into api_key (tenant_id, key_id, token_hash, subject, role, rings, agents, created_at, expires_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9) returning *`,
};

/** Without a tenant, it returns the keys of all tenants. */
export const LIST_KEYS: NamedStatement = {
  name: 'list_api_keys',
  text: 'select * from api_key where $1::text is null or tenant_id = $1 order by tenant_id, created_at, key_id',
};

/** Serializes concurrent changes of one key. */
export const LOCK_KEY: NamedStatement = {
  name: 'lock_api_key',
  text: 'select * from api_key where ($1::text is null or tenant_id = $1) and key_id = $2 for update',
};

export const ROTATE_KEY: NamedStatement = {
  name: 'rotate_api_key',
  text: 'update api_key set token_hash = $3 where tenant_id = $1 and key_id = $2 returning *',
};

export const REVOKE_KEY: NamedStatement = {
  name: 'revoke_api_key',
  text: 'update api_key set revoked_at = $3 where tenant_id = $1 and key_id = $2 returning *',
};

export const FIND_KEY: NamedStatement = {
  name: 'find_api_key',
  text: 'select * from api_key where token_hash = $1',
};

export const ANY_KEY: NamedStatement = {
  name: 'any_api_key',
  text: 'select from api_key where revoked_at is null limit 1',
};
