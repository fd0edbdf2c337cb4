import type { Executor } from '../postgres/database.js';
import { CURRENT_SCHEMA } from './print-schema.js';
import type { SchemaDefinition } from './schema-definition.js';

/** The role of a connection, and what it may do with the schema of Acta. */
export interface SchemaRole {
  readonly name: string;
  /** The schema that contains the tables, or in which `acta migrate` would create them. Null: the search_path names none. */
  readonly schema: string | null;
  readonly isSuperuser: boolean;
  /** Whether the role may change the schema. Null: there are no tables of Acta. */
  readonly isOwner: boolean | null;
  readonly canCreate: boolean;
  /** Whether the role can read which migrations were applied. */
  readonly canReadRecord: boolean;
  /** A schema with tables of Acta that the role does not find, because of its rights or its search_path. */
  readonly hiddenSchema: { readonly name: string; readonly isUsable: boolean } | null;
  /** Rights that the program needs and that the role lacks, such as `insert on event`. */
  readonly missingRights: readonly string[];
  /** Rights that the program does not need. Empty for an owner, who has all rights. */
  readonly excessRights: readonly string[];
  /** Whether every role may create objects in the schema, which could then be called instead of those of Acta. */
  readonly canEveryoneCreate: boolean;
}

type RoleRow = Pick<SchemaRole, 'name' | 'schema'> & {
  readonly is_superuser: boolean;
  readonly is_owner: boolean | null;
  readonly can_create: boolean | null;
  readonly hidden_schema: SchemaRole['hiddenSchema'];
  readonly can_everyone_create: boolean | null;
};

const READ_ROLE = `select current_user as name, current_schema() as schema,
    (select rolsuper from pg_roles where rolname = current_user) as is_superuser,
    (select pg_has_role(relowner, 'USAGE') from pg_class where oid = to_regclass('schema_migration')) as is_owner,
    has_schema_privilege(current_schema(), 'CREATE') as can_create,
    (select json_build_object('name', quote_ident(n.nspname), 'isUsable', has_schema_privilege(n.oid, 'USAGE'))
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relname = 'schema_migration' and c.relkind = 'r' and to_regclass('schema_migration') is null
     order by n.nspname limit 1) as hidden_schema,
    has_schema_privilege('public', current_schema(), 'CREATE') as can_everyone_create`;

const READ_RIGHTS = `select lower(p) || ' on ' || t as held
    from unnest($1::text[]) as t
    cross join unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) as p
    where has_table_privilege(to_regclass(t), p)
    union all
    select 'execute on ' || p.proname from pg_proc p
    where p.pronamespace = (${CURRENT_SCHEMA}) and p.proname = any($2::text[])
    group by p.proname having bool_and(has_function_privilege(p.oid, 'EXECUTE'))`;

const RECORD_RIGHTS = ['select on schema_version', 'select on schema_migration'];

/** Reads the role of a connection and its rights. Changes nothing. */
export async function readSchemaRole(executor: Executor, definition: SchemaDefinition): Promise<SchemaRole> {
  const [row] = (await executor.query<RoleRow>(READ_ROLE)).rows;
  const { name, schema, is_owner: isOwner } = row!;
  const canCreate = row!.can_create === true;
  // A role that can create tables has a schema of its own, or is about to create one beside a different installation.
  const hiddenSchema = canCreate ? null : row!.hidden_schema;
  const rights =
    isOwner === false ? await compareRights(executor, definition) : { missingRights: [], excessRights: [] };
  return {
    name,
    schema,
    isSuperuser: row!.is_superuser,
    isOwner,
    canCreate,
    canReadRecord: hiddenSchema === null && !rights.missingRights.some((right) => RECORD_RIGHTS.includes(right)),
    hiddenSchema,
    ...rights,
    canEveryoneCreate: row!.can_everyone_create === true,
  };
}

/** Returns whether the role may apply migrations. */
export const canMigrate = ({ isOwner, canCreate }: SchemaRole): boolean => isOwner ?? canCreate;

/** Returns what is wrong with the rights of a role, and what to do; null if nothing is wrong that prevents startup. */
export function describeMissingRights({ name, hiddenSchema, missingRights }: SchemaRole): string | null {
  const grant = `run \`acta migrate --grant ${name}\` as the role that owns the schema (ACTA_OWNER_DATABASE_URL)`;
  if (hiddenSchema?.isUsable === true) {
    return `the schema ${hiddenSchema.name}, which has tables of Acta, is not in the search_path of the role ${name}: run \`alter role ${name} set search_path = ${hiddenSchema.name}\``;
  }
  if (hiddenSchema !== null) {
    return `the role ${name} may not use the schema ${hiddenSchema.name}, which has tables of Acta: ${grant}`;
  }
  if (missingRights.length === 0) return null;
  return `the role ${name} lacks rights (${listShortly(missingRights)}): ${grant}`;
}

/** Returns the first items of a list and the number of the others. */
export const listShortly = (items: readonly string[]): string =>
  items.length <= 4 ? items.join(', ') : `${items.slice(0, 3).join(', ')} and ${items.length - 3} others`;

async function compareRights(
  executor: Executor,
  definition: SchemaDefinition,
): Promise<Pick<SchemaRole, 'missingRights' | 'excessRights'>> {
  const required = requiredRights(definition);
  const tables = new Set(required.flatMap((right) => / on (.+)$/.exec(right)![1]!));
  const { rows } = await executor.query<{ held: string }>(READ_RIGHTS, [[...tables], functionNames(definition)]);
  const held = rows.map((row) => row.held);
  const needed = [...required, ...functionNames(definition).map((name) => `execute on ${name}`)];
  return {
    missingRights: needed.filter((right) => !held.includes(right)),
    excessRights: held.filter((right) => !needed.includes(right)),
  };
}

/** The rights on tables that `grants.sql` grants, such as `insert on event`. */
function requiredRights({ grants }: SchemaDefinition): string[] {
  return [...grants.matchAll(/^grant ([\w, ]+) on ([\w,\s]+) to :"role";$/gm)].flatMap(([, rights, tables]) =>
    tables!.split(',').flatMap((table) => rights!.split(',').map((right) => `${right.trim()} on ${table.trim()}`)),
  );
}

/** The functions that the program calls: all but those of triggers. */
function functionNames({ functions }: SchemaDefinition): string[] {
  const called = functions.filter(({ sql }) => !/\breturns trigger\b/.test(sql));
  return [...new Set(called.map(({ name }) => name.slice(name.lastIndexOf('/') + 1)))];
}
