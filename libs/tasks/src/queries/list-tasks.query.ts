import { BOUNDS, type Principal, type TaskView, viewBytes } from '@app/domain';
import { Database } from '@app/storage';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { TaskAccess } from '../access/task-access.js';
import { pageOfTasks, type TaskFilter } from './list-tasks.statement.js';
import { PageTokens, requirePageSize } from './page-token.js';
import { TaskReader, type TaskRow } from './task-reader.js';

export interface ListTasksRequest extends TaskFilter {
  /** 1 to 100; absent: 50. */
  readonly pageSize?: number;
  readonly pageToken?: string;
  /** Absent: no history. */
  readonly historyLength?: number;
  readonly includeArtifacts?: boolean;
}

export interface TaskPage {
  readonly tasks: readonly TaskView[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
  readonly pageSize: number;
  /** The exact number of tasks on all pages. */
  readonly totalSize: number;
}

/** The tasks that the caller can access, newest status first. Errors: InvalidParameters (page size, token, timestamp). */
export class ListTasks extends Query<TaskPage> {
  constructor(
    readonly principal: Principal,
    readonly request: ListTasksRequest,
  ) {
    super();
  }
}

@QueryHandler(ListTasks)
export class ListTasksHandler implements IQueryHandler<ListTasks> {
  constructor(
    private readonly database: Database,
    private readonly reader: TaskReader,
    private readonly tokens: PageTokens,
    private readonly access: TaskAccess,
  ) {}

  async execute({ principal, request }: ListTasks): Promise<TaskPage> {
    const pageSize = request.pageSize ?? BOUNDS.pageSizeDefault;
    requirePageSize(pageSize);
    const boundTo = bindingOf(principal, request);
    const after = request.pageToken ? this.tokens.decrypt(request.pageToken, boundTo) : null;
    const { kysely } = this.database;
    const record = this.access.recordOf(principal, 'ListTasks');
    const { rows } = await pageOfTasks(kysely, principal, request, { after, pageSize }, record).execute(kysely);
    const totalSize = Number(rows[0]?.total ?? 0);
    const found = rows
      .flatMap(({ task_id, ...row }) => (task_id === null ? [] : [{ task_id, ...row }]))
      .sort((a, b) => Number(a.nth) - Number(b.nth))
      .map((row) => this.reader.rowOf(principal.tenantId, row));
    const tasks = await this.withinBudget(principal, request, found.slice(0, pageSize));
    const last = tasks.at(-1);
    const nextPageToken =
      last !== undefined && found.length > tasks.length
        ? this.tokens.encrypt([last.state.statusAt, last.taskId], boundTo)
        : '';
    return { tasks, nextPageToken, pageSize, totalSize };
  }

  /** Returns the tasks that fit on one page. The page ends before the task that would exceed a bound. One task always fits. */
  private async withinBudget(principal: Principal, request: ListTasksRequest, rows: readonly TaskRow[]) {
    const { historyLength = 0, includeArtifacts: artifacts = false } = request;
    const tasks: TaskView[] = [];
    const size = { bytes: 0, artifacts: 0, parts: 0 };
    for await (const view of this.reader.viewsOneByOne(principal.tenantId, rows, { historyLength, artifacts })) {
      size.bytes += viewBytes(view);
      size.artifacts += view.artifacts.length;
      size.parts += view.artifacts.reduce((sum, artifact) => sum + artifact.parts.length, 0);
      const exceeds =
        size.bytes > BOUNDS.pageBytes || size.artifacts > BOUNDS.pageArtifacts || size.parts > BOUNDS.pageArtifactParts;
      if (exceeds) break;
      tasks.push(view);
    }
    return tasks;
  }
}

/** Returns what a page token is bound to: the caller and the filters. The page size and the shown details may change. */
function bindingOf(
  principal: Principal,
  { contextId, agent, owner, ring, replied, status, statusTimestampAfter, statusTimestampBefore }: ListTasksRequest,
): unknown {
  const { tenantId, subject, role, rings } = principal;
  const filters = [contextId, agent, owner, ring, replied, status, statusTimestampAfter, statusTimestampBefore];
  return [tenantId, subject, role, rings, ...filters.map((filter) => filter ?? null)];
}
