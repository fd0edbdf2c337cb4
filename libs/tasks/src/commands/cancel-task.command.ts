import {
  activeRun,
  DomainError,
  type Fence,
  isTerminal,
  type Principal,
  SYSTEM_ACTOR,
  taskNotFound,
  type TaskView,
  type TraceContext,
} from '@app/domain';
import { Database } from '@app/storage';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { TaskAccess } from '../access/task-access.js';
import { TaskFollower } from '../following/task-follower.js';
import { AgentDirectory } from '../ports.js';
import { TaskReader } from '../queries/task-reader.js';
import { callerCommand, newInternalCommand, TaskWriter } from './task-writer.js';

/** Who may cancel a task that a worker runs, and how long the worker may take to end the run. */
export class CancelPolicy {
  constructor(
    readonly active: 'fence' | 'holder-only',
    readonly graceMs: number,
  ) {}
}

/**
 * Ends a task and returns it in its final state: canceled, or the final state that was recorded first. Errors: TaskNotFound (also for a
 * task of an agent other than `agent`), TaskNotCancelable (the task had ended before, unless `ended` returns it, or only its
 * worker may cancel it).
 */
export class CancelTask extends Command<TaskView> {
  constructor(
    readonly principal: Principal,
    readonly taskId: string,
    readonly options: {
      readonly protocolVersion?: string;
      readonly trace?: TraceContext;
      readonly holder?: Fence & { readonly worker: string };
      readonly agent?: string;
      /** `return`: a task that has ended is returned unchanged. Absent: it is an error. */
      readonly ended?: 'return';
    } = {},
  ) {
    super();
  }
}

@CommandHandler(CancelTask)
export class CancelTaskHandler implements ICommandHandler<CancelTask> {
  constructor(
    private readonly writer: TaskWriter,
    private readonly reader: TaskReader,
    private readonly access: TaskAccess,
    private readonly policy: CancelPolicy,
    private readonly agents: AgentDirectory,
    private readonly database: Database,
  ) {}

  async execute({ principal, taskId, options }: CancelTask): Promise<TaskView> {
    const { tenantId } = principal;
    // Subscribes before the read, so that an end in between is not missed.
    const follower = new TaskFollower({ reader: this.reader, wakeups: this.writer.wakeups }, tenantId, taskId);
    let activeOnArrival = false;
    try {
      const head = await this.access.require(principal, 'CancelTask', { taskId, agent: options.agent });
      const { state } = head;
      activeOnArrival = !isTerminal(state.status);
      if (!activeOnArrival && options.ended === 'return') {
        return (await this.reader.views(tenantId, [head], { artifacts: true }))[0]!;
      }
      // Database time, because the reaper of any replica compares the deadline with it.
      const now = await this.database.now();
      const deadline = new Date(now + this.policy.graceMs).toISOString();
      const { protocolVersion, trace, holder } = options;
      const applied = await this.writer.apply(
        {
          ...callerCommand(principal, taskId, 'cancel'),
          ...(protocolVersion ? { protocolVersion } : {}),
          ...(trace ? { trace } : {}),
        },
        { type: 'CancelTask', policy: this.policy.active, deadline, ...(holder === undefined ? {} : { holder }) },
        head,
      );
      if (applied.outcome !== 'applied') throw new Error(`cancel of task "${taskId}": outcome "${applied.outcome}"`);
      follower.startAt(applied);
      await this.untilEnd(follower, tenantId, taskId, now);
      const view = await follower.view();
      if (view === null) throw taskNotFound(taskId);
      const wasIdle = activeOnArrival && activeRun(state) === null;
      if (wasIdle && view.state.status === 'canceled' && state.upstream) {
        this.agents.onCanceled(state.agent, state.upstream);
      }
      return view;
    } catch (error) {
      if (!activeOnArrival || !DomainError.is(error, 'TaskNotCancelable')) throw error;
      // The task may have ended after the cancel arrived. Then the caller gets that end.
      const view = await this.reader.view(tenantId, taskId, { artifacts: true });
      if (view === null || view.state.status === 'replied') throw taskNotFound(taskId);
      if (!isTerminal(view.state.status)) throw error;
      return view;
    } finally {
      follower.close();
    }
  }

  /** Waits for the worker until the deadline. Then it force-cancels the task, as the reaper of any replica would. */
  private async untilEnd(follower: TaskFollower, tenantId: string, taskId: string, now: number): Promise<void> {
    const deadline = follower.current.cancelDeadline;
    if (deadline === null) return;
    const waitMs = Math.max(0, Date.parse(deadline) - now);
    const timer = setTimeout(() => {
      const envelope = { tenantId, taskId, actor: SYSTEM_ACTOR, ...newInternalCommand('cancel') };
      this.writer.apply(envelope, { type: 'EnforceCancel', now: deadline }).catch(() => undefined);
    }, waitMs);
    await follower.untilEnd().finally(() => clearTimeout(timer));
  }
}
