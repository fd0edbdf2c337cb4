import {
  activeRun,
  checkFence,
  DomainError,
  type Fence,
  fenced,
  hasOutcome,
  type Principal,
  requestOfEvent,
  type RunOutput,
  taskNotFound,
  type TaskState,
} from '@app/domain';
import {
  Database,
  DECODED_COLUMNS,
  type DecodedColumns,
  EventDecoder,
  type NamedStatement,
  type TaskHead,
} from '@app/storage';
import { TaskWriter } from '@app/tasks';
import { Injectable } from '@nestjs/common';
import { Agents } from '../agents/agents.js';
import { RunQueue } from '../queue/run-queue.js';
import {
  failureMessage,
  requireWorker,
  toRunOutcome,
  toRunOutput,
  type WorkerOutcome,
  type WorkerOutput,
  type WorkerResponse,
  workerNameOf,
  type WorkerWrite,
} from './worker-run.js';

const CLAIMED_BY: NamedStatement = {
  name: 'run_claimed_by',
  text: `select 1 from event where tenant_id = $1 and task_id = $2 and type = 'RunStarted'
      and facts ->> 'runId' = $3 and facts ->> 'worker' = $4`,
};

/** The client's messages after a version. A task has at most one hundred messages. */
const UNREAD: NamedStatement = {
  name: 'unread_messages',
  text: `select ${DECODED_COLUMNS}
    from message m join event e on e.tenant_id = m.tenant_id and e.task_id = m.task_id and e.version = m.version
    where m.tenant_id = $1 and m.task_id = $2 and m.version > $3 and m.role = 'user' order by m.version`,
};

interface RunTask {
  readonly taskId: string;
  readonly head: TaskHead;
}

/**
 * The runs that remote workers hold. A worker can access only the runs that it claimed, of its agents and rings. The fence
 * and the sequence number protect its writes like those of every other worker.
 */
@Injectable()
export class WorkerRuns {
  constructor(
    private readonly database: Database,
    private readonly decoder: EventDecoder,
    private readonly writer: TaskWriter,
    private readonly queue: RunQueue,
    private readonly agents: Agents,
  ) {}

  /** Renews the lease. Errors: as for `publish`. */
  async heartbeat(principal: Principal, runId: string, write: Omit<WorkerWrite, 'seq'>): Promise<WorkerResponse> {
    const { tenantId } = principal;
    const { taskId, head } = await this.requireRun(principal, runId);
    checkFence(head.state, taskId, { runId, ...write });
    const renewed = await this.queue.heartbeat([{ tenantId, taskId, runId }]);
    if (renewed.length === 0) throw fenced(head.state, taskId);
    return this.responseOf(tenantId, taskId, head, write.readThrough);
  }

  /**
   * Records the outputs of a run. A repeated `seq` adds nothing. Errors: TaskNotFound for a run that this worker never held;
   * Fenced (with the current generations) for a run that it no longer holds; InvalidAgentResponse, which fails the task.
   */
  publish(
    principal: Principal,
    runId: string,
    write: WorkerWrite,
    outputs: readonly WorkerOutput[],
  ): Promise<WorkerResponse> {
    const runOutputs = outputs.map((output, index) => toRunOutput(output, runId, write.seq, index));
    return this.record(principal, runId, write, () => runOutputs);
  }

  /** Records the outcome of the turn. Errors: as for `publish`. */
  async finish(
    principal: Principal,
    runId: string,
    write: WorkerWrite,
    outcome: WorkerOutcome,
  ): Promise<WorkerResponse> {
    const now = outcome.type === 'retry' ? await this.database.now() : 0;
    return this.record(principal, runId, write, ({ agent, attempts }) => [
      toRunOutcome(outcome, runId, write.seq, attempts, this.agents.retryPolicyOf(agent), now),
    ]);
  }

  private async record(
    principal: Principal,
    runId: string,
    write: WorkerWrite,
    outputsFor: (state: TaskState) => readonly RunOutput[],
  ): Promise<WorkerResponse> {
    const task = await this.requireRun(principal, runId);
    try {
      const head = await this.apply(principal, runId, write, task, outputsFor(task.head.state));
      return await this.responseOf(principal.tenantId, task.taskId, head, write.readThrough);
    } catch (error) {
      if (!DomainError.is(error, 'InvalidAgentResponse')) throw error;
      const message = failureMessage(error.message, runId);
      await this.apply(principal, runId, write, task, [{ type: 'fail', invalid: true, message }]);
      throw error;
    }
  }

  private async apply(
    { tenantId, subject, role }: Principal,
    runId: string,
    { seq, leaseGeneration, dispatcherGeneration, readThrough }: WorkerWrite,
    { taskId, head }: RunTask,
    outputs: readonly RunOutput[],
  ): Promise<TaskHead> {
    const fence: Fence = { runId, leaseGeneration, dispatcherGeneration };
    const commandId = `run:${runId}:${seq}`;
    const fingerprint = this.database.keys.fingerprint(JSON.stringify(outputs));
    const applied = await this.writer.apply(
      { tenantId, taskId, actor: { subject, role }, commandId, fingerprint, fence },
      { type: 'RecordRun', fence, seq, readThrough: readThrough ?? head.state.clientMessages.lastVersion, outputs },
      head,
    );
    return applied.outcome === 'applied' ? applied.head : head;
  }

  /** Returns the task of a run that this worker claimed, even if the run has ended. Errors: Forbidden, TaskNotFound. */
  private async requireRun(principal: Principal, runId: string): Promise<RunTask> {
    requireWorker(principal);
    const { tenantId, agents, rings } = principal;
    const taskId = runId.slice(0, Math.max(0, runId.lastIndexOf('.')));
    const head = taskId === '' ? null : await this.writer.head(tenantId, taskId);
    if (head === null) throw taskNotFound(taskId);
    const { agent, ring, run } = head.state;
    const worker = workerNameOf(principal);
    const isVisible = agents.includes(agent) && rings.includes(ring);
    const isCurrent = run?.id === runId && run.worker === worker;
    if (!isVisible || !(isCurrent || (await this.hasClaimed(tenantId, taskId, runId, worker)))) {
      throw taskNotFound(taskId);
    }
    return { taskId, head };
  }

  private async hasClaimed(tenantId: string, taskId: string, runId: string, worker: string): Promise<boolean> {
    const rows = await this.database.run(CLAIMED_BY, [tenantId, taskId, runId, worker]);
    return rows.length > 0;
  }

  private async responseOf(
    tenantId: string,
    taskId: string,
    { state, key }: TaskHead,
    readThrough: number | undefined,
  ): Promise<WorkerResponse> {
    const hasUnread = readThrough !== undefined && state.clientMessages.lastVersion > readThrough;
    const rows = hasUnread ? await this.database.run<DecodedColumns>(UNREAD, [tenantId, taskId, readThrough]) : [];
    return {
      version: state.version,
      status: state.status,
      cancelRequested: state.cancelDeadline !== null,
      leaseMs: hasOutcome(state) || activeRun(state) === null ? 0 : this.queue.leaseMs,
      messages: rows.flatMap((row) => {
        const event = this.decoder.decode(row, key);
        const message = event.content?.message;
        return message === undefined ? [] : [{ version: row.version, message, request: requestOfEvent(event)! }];
      }),
    };
  }
}
