import type { Principal, TaskState, TaskStatus } from '@app/domain';
import type { Schema, WrappedKeyColumns } from '@app/storage';
import { type ExpressionBuilder, type Kysely, type RawBuilder, sql } from 'kysely';
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
}

/** A task of the page. A page without tasks has one row: the total, and nulls. */
export interface PageRow extends WrappedKeyColumns {
  total: string;
  /** The index of the task on the page, from 1. */
  nth: string;
  task_id: string | null;
  state: TaskState;
}

/**
 * Returns a statement that counts the matching tasks and reads at most `limit` of them after a position, in one snapshot.
 * Both parts are index-only scans in the order of the index. Only the tasks of the page are read from the table. The rows
 * are numbered but not ordered, because an order would need a sort.
 */
export function pageOfTasks(
  kysely: Kysely<Schema>,
  principal: Principal,
  filter: TaskFilter,
  { after, limit }: { /** Status timestamp and id. */ after: PagePosition | null; limit: number },
): RawBuilder<PageRow> {
  const filtered = () =>
    kysely
      .selectFrom('task as t')
      .where((eb) => visible(eb, principal))
      .where((eb) => matching(eb, filter));
  const page = filtered()
    .$if(after !== null, (query) =>
      query.where(sql<boolean>`(t.status_at, t.task_id) < (${after?.[0]}::timestamptz, ${after?.[1]})`),
    )
    .select(['t.tenant_id', 't.task_id', sql`row_number() over (order by t.status_at desc, t.task_id desc)`.as('nth')])
    .orderBy('t.status_at', 'desc')
    .orderBy('t.task_id', 'desc')
    .limit(limit);
  const total = filtered().select((eb) => eb.fn.countAll().as('total'));
  return sql<PageRow>`
    select c.total, p.nth, p.task_id, t.state, k.wrapped_key, k.key_id
    from (${total}) c
    left join (${page}) p on true
    left join task t on t.tenant_id = p.tenant_id and t.task_id = p.task_id
    left join task_key k on k.tenant_id = p.tenant_id and k.task_id = p.task_id`;
}

type Task = ExpressionBuilder<{ t: Schema['task'] }, 't'>;

/** The rule of `canSee` in SQL. */
function visible(eb: Task, principal: Principal) {
  const inTenant = eb('t.tenant_id', '=', principal.tenantId);
  if (principal.role === 'admin' || principal.role === 'operator') return inTenant;
  if (principal.role !== 'member') return sql<boolean>`false`;
  return eb.and([
    inTenant,
    eb('t.owner', '=', principal.subject),
    sql<boolean>`t.ring = any(${[...principal.rings]}::text[])`,
  ]);
}

function matching(eb: Task, { contextId, agent, replied, status, statusTimestampAfter }: TaskFilter) {
  return eb.and([
    ...(replied === true ? [] : [eb('t.status', '<>', 'replied')]),
    ...(contextId === undefined ? [] : [eb('t.context_id', '=', contextId)]),
    ...(agent === undefined ? [] : [eb('t.agent', '=', agent)]),
    ...(status === undefined ? [] : [eb('t.status', '=', status)]),
    ...(statusTimestampAfter === undefined ? [] : [sql<boolean>`t.status_at >= ${statusTimestampAfter}::timestamptz`]),
  ]);
}
