import {
  activeRun,
  DomainError,
  type Fence,
  isTerminal,
  type Principal,
  SYSTEM_ACTOR,
  taskNotFound,
  type TaskView,
} from '@app/domain';
import { Database, ServerSecret } from '@app/storage';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { AccessRecord } from '../access/access-record.js';
import { AgentDirectory } from '../ports.js';
import { TaskFollower } from '../following/task-follower.js';
import { TaskReader } from '../queries/task-reader.js';
import { type CommandEnvelope, newInternalCommandId, TaskWriter } from './task-writer.js';
import { isThere } from '../access/visible-task.js';

/** Who may cancel what a worker holds, and how long the worker may take to end it by itself. */
export class CancelPolicy {
  constructor(
    readonly active: 'fence' | 'holder-only',
    readonly graceMs: number,
  ) {}
}

/**
 * Ends a task, and gives it in its final state: canceled, or whatever won the race. Errors: TaskNotFound (also for one that
 * is not of `agent`), TaskNotCancelable (it had ended before, or a worker holds it and only that worker may cancel).
 */
export class CancelTask extends Command<TaskView> {
  constructor(
    readonly principal: Principal,
    readonly taskId: string,
    readonly options: {
      readonly protocolVersion?: string;
      readonly holder?: Fence & { readonly worker: string };
      readonly agent?: string;
    } = {},
  ) {
    super();
  }
}

@CommandHandler(CancelTask)
export class CancelTaskHandler implements ICommandHandler<CancelTask> {
  constructor(
    private readonly streams: TaskWriter,
    private readonly reader: TaskReader,
    private readonly access: AccessRecord,
    private readonly policy: CancelPolicy,
    private readonly secret: ServerSecret,
    private readonly agents: AgentDirectory,
    private readonly database: Database,
  ) {}

  async execute({ principal, taskId, options }: CancelTask): Promise<TaskView> {
    const { tenantId, subject, role } = principal;
    // Listens before it reads: what ends the task in between is heard.
    const follower = new TaskFollower(this.streams, this.reader, tenantId, taskId);
    let activeOnArrival = false;
    try {
      const loaded = await this.streams.head(tenantId, taskId);
      const state = loaded?.head.state;
      if (state === undefined || state.status === 'replied' || !isThere(principal, state, options.agent)) {
        throw taskNotFound(taskId);
      }
      await this.access.note(principal, 'TaskCanceled', taskId, state);
      activeOnArrival = !isTerminal(state.status);
      // By the database's clock, as the reaper of any replica will ask it: that of this process may be hours off.
      const now = await this.database.now();
      const deadline = new Date(now + this.policy.graceMs).toISOString();
      const { protocolVersion, holder } = options;
      const applied = await this.streams.apply(
        {
          ...this.envelope(tenantId, taskId),
          actor: { subject, role },
          ...(protocolVersion ? { protocolVersion } : {}),
        },
        { type: 'CancelTask', policy: this.policy.active, deadline, ...(holder === undefined ? {} : { holder }) },
        loaded!.head,
      );
      if (applied.outcome !== 'applied') throw new Error('a cancel has no receipt');
      follower.startAt(applied);
      await this.untilEnd(follower, tenantId, taskId, now);
      const view = await follower.view();
      if (view === null) throw taskNotFound(taskId);
      const idle = activeOnArrival && activeRun(state) === null;
      if (idle && view.state.status === 'canceled' && state.upstream)
        this.agents.calledOff(state.agent, state.upstream);
      return view;
    } catch (error) {
      if (!activeOnArrival || !DomainError.is(error, 'TaskNotCancelable')) throw error;
      // It may have ended while the cancel was on its way: then that end is what the canceller is told.
      const view = await this.reader.view(tenantId, taskId, { artifacts: true });
      if (view === null || view.state.status === 'replied') throw taskNotFound(taskId);
      if (!isTerminal(view.state.status)) throw error;
      return view;
    } finally {
      follower.close();
    }
  }

  /** Waits for the holder until the deadline, then ends the task over its head, as any replica's reaper would. */
  private async untilEnd(follower: TaskFollower, tenantId: string, taskId: string, now: number): Promise<void> {
    const deadline = follower.current.cancelDeadline;
    if (deadline === null) return;
    const wait = Math.max(0, Date.parse(deadline) - now);
    const timer = setTimeout(() => {
      const envelope = { ...this.envelope(tenantId, taskId), actor: SYSTEM_ACTOR };
      this.streams.apply(envelope, { type: 'EnforceCancel', now: deadline }).catch(() => undefined);
    }, wait);
    await follower.untilEnd().finally(() => clearTimeout(timer));
  }

  private envelope(tenantId: string, taskId: string): Omit<CommandEnvelope, 'actor'> {
    return {
      tenantId,
      taskId,
      commandId: newInternalCommandId('cancel'),
      fingerprint: this.secret.hmac('fingerprint', 'cancel'),
    };
  }
}
