import { isUuid } from '@app/domain';
import { type RawBuilder, sql } from 'kysely';

export interface AuditFilter {
  /** Inclusive; RFC 3339. */
  readonly since?: string;
  /** Exclusive; RFC 3339. */
  readonly until?: string;
  /** The subject of the actor. */
  readonly actor?: string;
  /** Such as `TaskAccessed`. */
  readonly type?: string;
  /** Only access to this task. */
  readonly taskId?: string;
}

export interface AuditRow {
  entry_id: string;
  type: string;
  facts: string;
  actor_subject: string;
  actor_role: string;
  recorded_at: Date;
  hash: Buffer;
  /** Whether the entries up to this one are within the limit of bytes. Always true for the first. */
  fits: boolean;
}

interface AuditWindow {
  /** The id of an entry. */
  readonly after: string | undefined;
  readonly limit: number;
  /** Size of the entries in JSON. */
  readonly bytes: number;
}

/** More than the JSON of an entry without its facts. */
const OTHER_COLUMNS_BYTES = 1_024;

/**
 * Returns a statement that reads entries of a tenant, newest first, after an entry. It is built from the filters that are set,
 * so that Postgres can use the index of each. Of the entries beyond the limit of bytes, only the first is returned.
 */
export function pageOfEntries(
  tenantId: string,
  filter: AuditFilter,
  { after, limit, bytes }: AuditWindow,
): RawBuilder<AuditRow> {
  const conditions = [
    sql`e.tenant_id = ${tenantId}`,
    ...(after === undefined
      ? []
      : [
          sql`(e.recorded_at, e.entry_id) < (select a.recorded_at, a.entry_id from audit_entry a
            where a.tenant_id = ${tenantId} and a.entry_id = ${after})`,
        ]),
    ...conditionsOf(filter),
  ];
  return sql<AuditRow>`
    select entry_id, type, facts, actor_subject, actor_role, recorded_at, hash, nth = 1 or total <= ${bytes} as fits
    from (
      select p.*, sum(p.bytes) over newest as total, row_number() over newest as nth
      from (
        select e.entry_id, e.type, e.facts::text as facts, e.actor_subject, e.actor_role, e.recorded_at, e.hash,
          octet_length(e.facts::text) + ${OTHER_COLUMNS_BYTES}::integer as bytes
        from audit_entry e
        where ${sql.join(conditions, sql` and `)}
        order by e.recorded_at desc, e.entry_id desc limit ${limit}
      ) p
      window newest as (order by p.recorded_at desc, p.entry_id desc)
    ) q
    where nth = 1 or total - bytes <= ${bytes}
    order by nth`;
}

function conditionsOf({ since, until, actor, type, taskId }: AuditFilter): RawBuilder<unknown>[] {
  return [
    ...(since === undefined ? [] : [sql`e.recorded_at >= ${since}::timestamptz`]),
    ...(until === undefined ? [] : [sql`e.recorded_at < ${until}::timestamptz`]),
    ...(actor === undefined ? [] : [sql`e.actor_subject = ${actor}`]),
    ...(type === undefined ? [] : [sql`e.type = ${type}`]),
    ...(taskId === undefined
      ? []
      : isUuid(taskId)
        ? [sql`e.type = 'TaskAccessed' and (e.facts -> 'taskIds')::jsonb ? ${taskId}`]
        : [sql`false`]),
  ];
}
