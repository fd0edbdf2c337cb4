import { type Principal, taskNotFound, type TaskView } from '@app/domain';
import { ServerSecret } from '@app/storage';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { AccessRecord } from '../access/access-record.js';
import { TaskReader } from '../queries/task-reader.js';
import { newInternalCommandId, TaskWriter } from './task-writer.js';
import { isThere } from '../access/visible-task.js';

/**
 * Goes on with a task that asked for an authorization which has happened elsewhere; one that goes on already, or that a
 * resume has brought to its end, is given as it is. Errors: TaskNotFound, TaskEnded, InvalidParameters (it waits for input
 * instead).
 */
export class ResumeTask extends Command<TaskView> {
  constructor(
    readonly principal: Principal,
    readonly taskId: string,
  ) {
    super();
  }
}

@CommandHandler(ResumeTask)
export class ResumeTaskHandler implements ICommandHandler<ResumeTask> {
  constructor(
    private readonly streams: TaskWriter,
    private readonly reader: TaskReader,
    private readonly access: AccessRecord,
    private readonly secret: ServerSecret,
  ) {}

  async execute({ principal, taskId }: ResumeTask): Promise<TaskView> {
    const { tenantId, subject, role } = principal;
    const loaded = await this.streams.head(tenantId, taskId);
    const state = loaded?.head.state;
    if (state === undefined || state.status === 'replied' || !isThere(principal, state)) throw taskNotFound(taskId);
    await this.access.note(principal, 'TaskResumed', taskId, state);
    await this.streams.apply(
      {
        tenantId,
        taskId,
        actor: { subject, role },
        commandId: newInternalCommandId('resume'),
        fingerprint: this.secret.hmac('fingerprint', 'resume'),
      },
      { type: 'ResumeTask' },
      loaded!.head,
    );
    const view = await this.reader.view(tenantId, taskId, { artifacts: true });
    if (view === null) throw taskNotFound(taskId);
    return view;
  }
}
