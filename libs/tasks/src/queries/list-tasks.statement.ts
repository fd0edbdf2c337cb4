import type { JsonObject, Principal, TaskState, TaskStatus } from '@app/domain';
import type { Schema, WrappedKeyColumns } from '@app/storage';
import { type ExpressionBuilder, type Kysely, type RawBuilder, sql } from 'kysely';
import { type AccessRecord, callerValues } from '../access/task-access.js';
import { RECORD_ACCESS } from '../access/task-access.statements.js';
import type { PagePosition } from './page-token.js';

export interface TaskFilter {
  readonly contextId?: string;
  /** Only tasks of this agent. */
  readonly agent?: string;
  /** Include executions that ended with a direct message response. A2A clients never see these as tasks. */
  readonly replied?: boolean;
  readonly status?: TaskStatus;
  /** Inclusive; RFC 3339. */
  readonly statusTimestampAfter?: string;
  /** Exclusive; RFC 3339. */
  readonly statusTimestampBefore?: string;
  readonly owner?: string;
  readonly ring?: string;
}

/** A task of the page. A page without tasks has one row: the total, and nulls. */
export interface PageRow extends WrappedKeyColumns {
  total: string;
  /** The index of the task on the page, from 1. */
  nth: string;
  task_id: string | null;
  owner: string | null;
  state: TaskState;
}

export interface PageWindow {
  /** Status timestamp and id. */
  readonly after: PagePosition | null;
  readonly pageSize: number;
}

/**
 * Returns a statement that counts the matching tasks and reads a page of them after a position, and one more task if there is one, in one snapshot.
 * Both parts are index-only scans in the order of the index. Only the tasks of the page are read from the table. The rows
 * are numbered but not ordered, because an order would need a sort.
 */
export function pageOfTasks(
  kysely: Kysely<Schema>,
  principal: Principal,
  filter: TaskFilter,
  { after, pageSize }: PageWindow,
  record: AccessRecord | null,
): RawBuilder<PageRow> {
  const filtered = () =>
    kysely
      .selectFrom('task as t')
      .where(accessible(principal))
      .where((eb) => matching(eb, filter));
  const page = filtered()
    .$if(after !== null, (query) =>
      query.where(sql<boolean>`(t.status_at, t.task_id) < (${after?.[0]}::timestamptz, ${after?.[1]})`),
    )
    .select(['t.tenant_id', 't.task_id', sql`row_number() over (order by t.status_at desc, t.task_id desc)`.as('nth')])
    .orderBy('t.status_at', 'desc')
    .orderBy('t.task_id', 'desc')
    .limit(pageSize + 1);
  const total = filtered().select((eb) => eb.fn.countAll().as('total'));
  const rows = sql<PageRow>`
    select c.total, p.nth, p.task_id, t.owner, t.state, k.wrapped_key, k.key_id
    from (${total}) c
    left join (${page}) p on true
    left join task t on t.tenant_id = p.tenant_id and t.task_id = p.task_id
    left join task_key k on k.tenant_id = p.tenant_id and k.task_id = p.task_id`;
  return record === null ? rows : recorded(rows, principal, filter, pageSize, record);
}

/** Returns the statement with an entry in the audit log for the tasks of the page. */
function recorded(
  rows: RawBuilder<PageRow>,
  { tenantId, subject }: Principal,
  filter: TaskFilter,
  pageSize: number,
  { entryId, operation, role, recordedAt, epoch, ownTasks }: AccessRecord,
): RawBuilder<PageRow> {
  return sql<PageRow>`
    with page as materialized (${rows}),
    accessed as (select task_id, owner from page where nth <= ${pageSize}),
    access as (
      select ${tenantId}::text as tenant_id, ${entryId}::text as entry_id, ${operation}::text as operation,
        ${JSON.stringify(shown(filter))}::text as filter, ${subject}::text as subject, ${role}::text as role,
        ${recordedAt}::text as recorded_at, ${epoch}::integer as epoch, ${ownTasks}::boolean as own_tasks
    ),
    recorded as (${sql.raw(RECORD_ACCESS)})
    select * from page`;
}

/** Returns the filters that the caller set, for the audit log. */
const shown = (filter: TaskFilter): JsonObject => {
  const { contextId, agent, owner, ring, status, statusTimestampAfter, statusTimestampBefore } = filter;
  return { contextId, agent, owner, ring, status, statusTimestampAfter, statusTimestampBefore } as JsonObject;
};

type Task = ExpressionBuilder<{ t: Schema['task'] }, 't'>;

/** Whether the caller can access the task `t`. Postgres inlines the function, so it uses the indexes of its columns. */
function accessible(principal: Principal): RawBuilder<boolean> {
  const [tenant, everyTask, subject, rings] = callerValues(principal);
  return sql<boolean>`can_access(${tenant}, ${everyTask}::boolean, ${subject}, ${rings}::text[], t.tenant_id, t.owner, t.ring)`;
}

function matching(eb: Task, filter: TaskFilter) {
  const { contextId, agent, owner, ring, replied, status, statusTimestampAfter, statusTimestampBefore } = filter;
  return eb.and([
    ...(replied === true ? [] : [eb('t.status', '<>', 'replied')]),
    ...(contextId === undefined ? [] : [eb('t.context_id', '=', contextId)]),
    ...(agent === undefined ? [] : [eb('t.agent', '=', agent)]),
    ...(owner === undefined ? [] : [eb('t.owner', '=', owner)]),
    ...(ring === undefined ? [] : [eb('t.ring', '=', ring)]),
    ...(status === undefined ? [] : [eb('t.status', '=', status)]),
    ...(statusTimestampAfter === undefined ? [] : [sql<boolean>`t.status_at >= ${statusTimestampAfter}::timestamptz`]),
    ...(statusTimestampBefore === undefined ? [] : [sql<boolean>`t.status_at < ${statusTimestampBefore}::timestamptz`]),
  ]);
}
