import type { Principal, TaskState, TaskStatus } from '@app/domain';
import type { Schema } from '@app/storage';
import { type ExpressionBuilder, type Kysely, type RawBuilder, sql } from 'kysely';
import type { PagePosition } from './page-token.js';

export interface TaskFilter {
  readonly contextId?: string;
  /** Only tasks of this agent. */
  readonly agent?: string;
  /** Executions that ended in a bare reply too, which no A2A client is ever shown as tasks. */
  readonly replied?: boolean;
  readonly status?: TaskStatus;
  /** Inclusive; RFC 3339. */
  readonly statusTimestampAfter?: string;
}

/** A task of the page, or, on a page without any, nulls beside the total. */
export interface PageRow {
  total: string;
  /** Its place on the page, from 1. */
  nth: string;
  task_id: string | null;
  state: TaskState;
  wrapped_key: Buffer | null;
}

/**
 * The exact number of tasks that match, and at most `limit` of them after a position: one statement, hence one snapshot.
 * Both are read in the order of an index and from it alone; only the tasks of the page are looked up. Rows come with their
 * place in place of an order, which would take a sort.
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
    select c.total, p.nth, p.task_id, t.state, k.wrapped_key
    from (${total}) c
    left join (${page}) p on true
    left join task t on t.tenant_id = p.tenant_id and t.task_id = p.task_id
    left join task_key k on k.tenant_id = p.tenant_id and k.task_id = p.task_id`;
}

type Task = ExpressionBuilder<{ t: Schema['task'] }, 't'>;

/** `canSee` of the domain, in SQL. */
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
