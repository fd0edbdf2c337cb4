import pg from 'pg';
import type { Executor } from '../postgres/database.js';
import { StorageError } from '../storage-error.js';
import type { SchemaDefinition } from './schema-definition.js';

/** The roles that earlier runs of `grants.sql` gave rights to. */
const READ_GRANTEES = `select distinct r.rolname as name
    from pg_class c cross join aclexplode(c.relacl) as a join pg_roles r on r.oid = a.grantee
    where c.oid = 'event'::regclass and a.privilege_type = 'INSERT' and not pg_has_role(r.oid, c.relowner, 'MEMBER')
    order by 1`;

const READ_OWNER = `select n.nspname as schema, o.rolname as owner,
      (select pg_has_role(r.oid, c.relowner, 'MEMBER') from pg_roles r where r.rolname = $1) as is_owner
    from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_roles o on o.oid = c.relowner
    where c.oid = 'event'::regclass`;

/**
 * Sets the rights of a new application role, and again those of the existing ones, which need them on new tables. Returns the
 * names of all of them. Throws StorageError if the new role does not exist, or if it owns the schema.
 */
export async function setGrants(
  { grants }: SchemaDefinition,
  newRole: string | undefined,
  executor: Executor,
): Promise<string[]> {
  const { rows } = await executor.query<{ name: string }>(READ_GRANTEES);
  const roles = new Set(rows.map(({ name }) => name));
  if (newRole !== undefined) roles.add(newRole);
  for (const role of roles) await executor.query(fillIn(grants, role, await schemaFor(role, executor)));
  return [...roles];
}

/** Returns the schema of the tables, after a check that the role does not own them. */
async function schemaFor(role: string, executor: Executor): Promise<string> {
  const { rows } = await executor.query<{ schema: string; owner: string; is_owner: boolean | null }>(READ_OWNER, [
    role,
  ]);
  const { schema, owner, is_owner: isOwner } = rows[0]!;
  if (isOwner === null) {
    throw new StorageError(
      `The role ${role} does not exist: create it, for example with \`createuser --pwprompt ${role}\`.`,
    );
  }
  if (isOwner) {
    throw new StorageError(
      `The role ${role} is the owner of the schema (${owner}), a member of it, or a superuser: create a role that owns nothing.`,
    );
  }
  return schema;
}

/** Replaces the psql variables of `grants.sql`. */
function fillIn(grants: string, role: string, schema: string): string {
  return grants
    .replaceAll(':"role"', () => pg.escapeIdentifier(role))
    .replaceAll(`:'role'`, () => pg.escapeLiteral(role))
    .replaceAll(':"schema"', () => pg.escapeIdentifier(schema));
}
