import { type Principal, taskNotFound, type TaskView, type TraceContext } from '@app/domain';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { TaskAccess } from '../access/task-access.js';
import { TaskReader } from '../queries/task-reader.js';
import { callerCommand, TaskWriter } from './task-writer.js';

/**
 * Continues a task that required an authorization, after it was granted out-of-band. A task that was resumed before is
 * returned as it is. Errors: TaskNotFound, TaskEnded, InvalidParameters (the task requires input instead).
 */
export class ResumeTask extends Command<TaskView> {
  constructor(
    readonly principal: Principal,
    readonly taskId: string,
    readonly trace?: TraceContext,
  ) {
    super();
  }
}

@CommandHandler(ResumeTask)
export class ResumeTaskHandler implements ICommandHandler<ResumeTask> {
  constructor(
    private readonly writer: TaskWriter,
    private readonly reader: TaskReader,
    private readonly access: TaskAccess,
  ) {}

  async execute({ principal, taskId, trace }: ResumeTask): Promise<TaskView> {
    const head = await this.access.require(principal, 'ResumeTask', { taskId });
    const envelope = { ...callerCommand(principal, taskId, 'resume'), ...(trace ? { trace } : {}) };
    await this.writer.apply(envelope, { type: 'ResumeTask' }, head);
    const view = await this.reader.view(principal.tenantId, taskId, { artifacts: true });
    if (view === null) throw taskNotFound(taskId);
    return view;
  }
}
