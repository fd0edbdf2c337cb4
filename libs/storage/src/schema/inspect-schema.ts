import type { Executor } from '../postgres/database.js';
import { isUnavailable, sqlStateOf } from '../postgres/sql-state.js';
import { firstDifference, printSchema } from './print-schema.js';
import { readSchemaDefinition, type SchemaDefinition } from './schema-definition.js';
import { describeMissingRights, readSchemaRole, type SchemaRole } from './schema-roles.js';
import { describeSchemaState, isUsable, readSchemaState, schemaError, type SchemaState } from './schema-state.js';

/** The schema of a database as one role finds it. */
export interface SchemaInspection {
  readonly role: SchemaRole;
  /** Null: the role may not read it. */
  readonly state: SchemaState | null;
  /** Why a program cannot use the schema with this role, and what to do, without a final period. Null: it can. */
  readonly problem: string | null;
}

/**
 * Compares the schema and the rights of the role with what this version of Acta needs. Changes nothing. `migrate` is what the
 * problem of pending migrations names as the remedy.
 */
export async function inspectSchema(
  executor: Executor,
  definition: SchemaDefinition,
  migrate?: string,
): Promise<SchemaInspection> {
  const role = await readSchemaRole(executor, definition);
  const rightsProblem = describeMissingRights(role);
  if (!role.canReadRecord) return { role, state: null, problem: rightsProblem };
  const state = await readSchemaState(executor, definition);
  // Pending migrations come first, because rights on their tables are missing, too.
  return { role, state, problem: isUsable(state) ? rightsProblem : describeSchemaState(state, definition, migrate) };
}

/**
 * Returns the problem of the schema or of the role's rights as a StorageError, if there is one. Otherwise returns the error of
 * the statement that failed.
 */
export async function explainStatementError(error: unknown, executor: Executor): Promise<unknown> {
  if (sqlStateOf(error) === undefined || isUnavailable(error)) return error;
  const { problem } = await inspectSchema(executor, await readSchemaDefinition());
  return problem === null ? error : schemaError(problem);
}

/** Returns the first difference between the tables and functions of a database and `schema.sql`; null if there is none. */
export async function differenceFromSnapshot(executor: Executor, definition: SchemaDefinition): Promise<string | null> {
  return firstDifference(definition.snapshot, await printSchema(executor));
}
