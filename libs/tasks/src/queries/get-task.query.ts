import { type Principal, taskNotFound, type TaskView } from '@app/domain';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { AccessRecord } from '../access/access-record.js';
import { TaskReader } from './task-reader.js';
import { isThere } from '../access/visible-task.js';

/**
 * One task as the caller may see it. Errors: TaskNotFound, for a task that is missing, another's, or in a ring that the
 * caller does not see, or not of `agent`; and for an execution that ended with a bare reply, unless `replied` asks for those too.
 */
export class GetTask extends Query<TaskView> {
  constructor(
    readonly principal: Principal,
    readonly taskId: string,
    readonly options: { readonly historyLength?: number; readonly replied?: boolean; readonly agent?: string } = {},
  ) {
    super();
  }
}

@QueryHandler(GetTask)
export class GetTaskHandler implements IQueryHandler<GetTask> {
  constructor(
    private readonly reader: TaskReader,
    private readonly access: AccessRecord,
  ) {}

  async execute({ principal, taskId, options }: GetTask): Promise<TaskView> {
    const { tenantId } = principal;
    const [row] = await this.reader.rows(tenantId, [taskId]);
    if (row === undefined || !isThere(principal, row.state, options.agent)) throw taskNotFound(taskId);
    if (row.state.status === 'replied' && options.replied !== true) throw taskNotFound(taskId);
    await this.access.note(principal, 'TaskRead', taskId, row.state);
    const [view] = await this.reader.views(tenantId, [row], { ...options, artifacts: true });
    return view!;
  }
}
