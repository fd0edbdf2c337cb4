import {
  BOUNDS,
  invalidField,
  type Principal,
  type TaskState,
  type TaskStatus,
  type TaskView,
  viewBytes,
} from '@app/domain';
import { EventLog, type Schema } from '@app/storage';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { type ExpressionBuilder, sql } from 'kysely';
import { PageTokens, type PagePosition } from './page-token.js';
import { TaskReader, type TaskRow } from './task-reader.js';

export interface ListTasksRequest {
  readonly contextId?: string;
  readonly status?: TaskStatus;
  /** 1 to 100; absent: 50. */
  readonly pageSize?: number;
  readonly pageToken?: string;
  /** Absent: no history. */
  readonly historyLength?: number;
  /** Inclusive; RFC 3339. */
  readonly statusTimestampAfter?: string;
  readonly includeArtifacts?: boolean;
}

export interface TaskPage {
  readonly tasks: readonly TaskView[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
  readonly pageSize: number;
  /** Exact, of all pages. */
  readonly totalSize: number;
}

/** The caller's tasks, newest status first. Errors: InvalidParameters (page size, token, timestamp). */
export class ListTasks extends Query<TaskPage> {
  constructor(
    readonly principal: Principal,
    readonly request: ListTasksRequest,
  ) {
    super();
  }
}

interface PageRow {
  total: string;
  nth: string;
  task_id: string | null;
  state: TaskState;
  wrapped_key: Buffer | null;
}

@QueryHandler(ListTasks)
export class ListTasksHandler implements IQueryHandler<ListTasks> {
  constructor(
    private readonly log: EventLog,
    private readonly reader: TaskReader,
    private readonly tokens: PageTokens,
  ) {}

  async execute({ principal, request }: ListTasks): Promise<TaskPage> {
    const pageSize = request.pageSize ?? BOUNDS.pageSizeDefault;
    if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > BOUNDS.pageSizeMax) {
      throw invalidField('pageSize', `must be a whole number from 1 to ${BOUNDS.pageSizeMax}`);
    }
    const boundTo = bindingOf(principal, request);
    const after = request.pageToken ? this.tokens.open(request.pageToken, boundTo) : null;
    const rows = await this.page(principal, request, after, pageSize + 1);
    const totalSize = Number(rows[0]?.total ?? 0);
    const found = rows
      .flatMap(({ task_id, ...row }) => (task_id === null ? [] : [{ task_id, ...row }]))
      .sort((a, b) => Number(a.nth) - Number(b.nth))
      .map((row) => this.reader.rowOf(principal.tenantId, row));
    const tasks = await this.withinBudget(principal, request, found.slice(0, pageSize));
    const last = tasks.at(-1);
    const nextPageToken =
      last !== undefined && found.length > tasks.length
        ? this.tokens.seal([last.state.statusAt, last.taskId], boundTo)
        : '';
    return { tasks, nextPageToken, pageSize, totalSize };
  }

  /**
   * One statement, hence one snapshot: the exact total and at most one page. Both are read from the index alone; only the
   * tasks of the page are looked up. The rows come with their place, because a sort for their order would be one more step.
   */
  private async page(principal: Principal, request: ListTasksRequest, after: PagePosition | null, limit: number) {
    const { kysely } = this.log.database;
    const filtered = () =>
      kysely
        .selectFrom('task as t')
        .where((eb) => visible(eb, principal))
        .where((eb) => matching(eb, request));
    const page = filtered()
      .$if(after !== null, (query) =>
        query.where(sql<boolean>`(t.status_at, t.task_id) < (${after?.[0]}::timestamptz, ${after?.[1]})`),
      )
      .select([
        't.tenant_id',
        't.task_id',
        sql`row_number() over (order by t.status_at desc, t.task_id desc)`.as('nth'),
      ])
      .orderBy('t.status_at', 'desc')
      .orderBy('t.task_id', 'desc')
      .limit(limit);
    const total = filtered().select((eb) => eb.fn.countAll().as('total'));
    const { rows } = await sql<PageRow>`
      select c.total, p.nth, p.task_id, t.state, k.wrapped_key
      from (${total}) c
      left join (${page}) p on true
      left join task t on t.tenant_id = p.tenant_id and t.task_id = p.task_id
      left join task_key k on k.tenant_id = p.tenant_id and k.task_id = p.task_id`.execute(kysely);
    return rows;
  }

  /** The tasks that fit one page: it ends before the task that would cross a budget. One task always fits. */
  private async withinBudget(principal: Principal, request: ListTasksRequest, rows: readonly TaskRow[]) {
    const { historyLength = 0, includeArtifacts: artifacts = false } = request;
    const tasks: TaskView[] = [];
    const used = { bytes: 0, artifacts: 0, parts: 0 };
    for await (const view of this.reader.viewsOneByOne(principal.tenantId, rows, { historyLength, artifacts })) {
      used.bytes += viewBytes(view);
      used.artifacts += view.artifacts.length;
      used.parts += view.artifacts.reduce((sum, artifact) => sum + artifact.parts.length, 0);
      const over =
        used.bytes > BOUNDS.pageBytes || used.artifacts > BOUNDS.pageArtifacts || used.parts > BOUNDS.pageArtifactParts;
      if (over) break;
      tasks.push(view);
    }
    return tasks;
  }
}

type Task = ExpressionBuilder<{ t: Schema['task'] }, 't'>;

/** `canSee` of the domain, in SQL. A bare reply is no task. */
function visible(eb: Task, principal: Principal) {
  const inTenant = eb.and([eb('t.tenant_id', '=', principal.tenantId), eb('t.status', '<>', 'replied')]);
  if (principal.role === 'admin' || principal.role === 'operator') return inTenant;
  return eb.and([
    inTenant,
    eb('t.owner', '=', principal.subject),
    sql<boolean>`t.ring = any(${[...principal.rings]}::text[])`,
  ]);
}

function matching(eb: Task, { contextId, status, statusTimestampAfter }: ListTasksRequest) {
  return eb.and([
    ...(contextId === undefined ? [] : [eb('t.context_id', '=', contextId)]),
    ...(status === undefined ? [] : [eb('t.status', '=', status)]),
    ...(statusTimestampAfter === undefined ? [] : [sql<boolean>`t.status_at >= ${statusTimestampAfter}::timestamptz`]),
  ]);
}

/** Page size and what a page shows of each task may change from page to page; the question may not. */
function bindingOf(principal: Principal, { contextId, status, statusTimestampAfter }: ListTasksRequest): unknown {
  const { tenantId, subject, role, rings } = principal;
  return [tenantId, subject, role, rings, contextId ?? null, status ?? null, statusTimestampAfter ?? null];
}
