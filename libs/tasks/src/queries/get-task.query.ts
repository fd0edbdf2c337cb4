import type { Principal, TaskView } from '@app/domain';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { TaskAccess } from '../access/task-access.js';
import { TaskReader } from './task-reader.js';

/**
 * One task that the caller can access. Errors: TaskNotFound, also for a task of an agent other than `agent`, and for an
 * execution that ended with a direct message response, unless `replied` includes those.
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
    private readonly access: TaskAccess,
  ) {}

  async execute({ principal, taskId, options }: GetTask): Promise<TaskView> {
    const { agent, replied = false } = options;
    const task = await this.access.require(principal, 'GetTask', { taskId, agent }, { replied });
    const [view] = await this.reader.views(principal.tenantId, [task], { ...options, artifacts: true });
    return view!;
  }
}
