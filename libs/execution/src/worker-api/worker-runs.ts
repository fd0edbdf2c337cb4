import {
  activeRun,
  DomainError,
  type Fence,
  fenced,
  hasOutcome,
  type Principal,
  type RunOutput,
  taskNotFound,
  type TaskState,
} from '@app/domain';
import type { Database, EventDecoder, NamedStatement, ServerSecret, StoredEvent, StreamHead } from '@app/storage';
import type { TaskReader, TaskWriter } from '@app/tasks';
import type { Agents } from '../agents/agents.js';
import { RemoteClaims } from './worker-claims.js';
import {
  outcomeOf,
  outputOf,
  refusal,
  type RemoteAnswer,
  type RemoteOutcome,
  type RemoteOutput,
  type RemoteRun,
  type RemoteWrite,
  requireWorker,
  workerOf,
} from './worker-run.js';
import type { RunQueue } from '../queue/run-queue.js';

const CLAIMED_BY: NamedStatement = {
  name: 'run_claimed_by',
  text: `select 1 from event where tenant_id = $1 and task_id = $2 and type = 'RunStarted'
      and facts ->> 'runId' = $3 and facts ->> 'worker' = $4`,
};

/** The client's messages after a version. A task has at most a hundred of them. */
const UNREAD: NamedStatement = {
  name: 'unread_messages',
  text: `select e.version, e.event_id, e.type, e.facts::text as facts, e.content, e.recorded_at
    from message m join event e on e.tenant_id = m.tenant_id and e.task_id = m.task_id and e.version = m.version
    where m.tenant_id = $1 and m.task_id = $2 and m.version > $3 and m.role = 'user' order by m.version`,
};

/**
 * Runs of workers in other processes and languages, which speak HTTP. A worker sees what it holds, of its agents and
 * rings, and nothing else. The fence and the sequence number are those of every worker.
 */
export class RemoteRuns {
  private readonly claims: RemoteClaims;

  constructor(
    private readonly database: Database,
    private readonly decoder: EventDecoder,
    private readonly streams: TaskWriter,
    reader: TaskReader,
    private readonly queue: RunQueue,
    private readonly agents: Agents,
    private readonly secret: ServerSecret,
    private readonly leaseMs: number,
    pollMs?: number,
  ) {
    this.claims = new RemoteClaims(database, streams, reader, queue, (agent) => agents.retryOf(agent), leaseMs, pollMs);
  }

  /** Hands out no more runs: whoever waits for one is answered with none. */
  stop(): void {
    this.claims.stop();
  }

  /** As `RemoteClaims.claim`. */
  claim(...wanted: Parameters<RemoteClaims['claim']>): Promise<RemoteRun[]> {
    return this.claims.claim(...wanted);
  }

  /** Renews the lease. Errors: as `publish`. */
  async heartbeat(principal: Principal, runId: string, write: Omit<RemoteWrite, 'seq'>): Promise<RemoteAnswer> {
    const { taskId, head } = await this.held(principal, runId);
    requireFence(head.state, taskId, { runId, ...write });
    const renewed = await this.queue.heartbeat([{ tenantId: principal.tenantId, taskId, runId }], this.leaseMs);
    if (renewed.length === 0) throw fenced(head.state, taskId);
    return this.answer(principal.tenantId, taskId, head, write.readThrough);
  }

  /**
   * Records what a run says; a repeated `seq` adds nothing. Errors: TaskNotFound for a run that this worker never held,
   * Fenced (with the current generations) for one that it holds no longer, InvalidAgentResponse, which fails the task.
   */
  publish(
    principal: Principal,
    runId: string,
    write: RemoteWrite,
    outputs: readonly RemoteOutput[],
  ): Promise<RemoteAnswer> {
    const said = outputs.map((output, at) => outputOf(output, runId, write.seq, at));
    return this.record(principal, runId, write, () => said);
  }

  /** Records the outcome of the turn. Errors: as `publish`. */
  async finish(principal: Principal, runId: string, write: RemoteWrite, outcome: RemoteOutcome): Promise<RemoteAnswer> {
    const now = outcome.type === 'retry' ? await this.database.now() : 0;
    return this.record(principal, runId, write, (state) => [
      outcomeOf(outcome, runId, write.seq, state.attempts, this.agents.retryOf(state.agent), now),
    ]);
  }

  private async record(
    principal: Principal,
    runId: string,
    write: RemoteWrite,
    outputs: (state: TaskState) => readonly RunOutput[],
  ): Promise<RemoteAnswer> {
    const held = await this.held(principal, runId);
    try {
      const head = await this.apply(principal, runId, write, held, outputs(held.head.state));
      return await this.answer(principal.tenantId, held.taskId, head, write.readThrough);
    } catch (error) {
      if (!DomainError.is(error, 'InvalidAgentResponse')) throw error;
      const message = refusal(error.message, runId);
      await this.apply(principal, runId, write, held, [{ type: 'fail', invalid: true, message }]);
      throw error;
    }
  }

  private async apply(
    { tenantId, subject, role }: Principal,
    runId: string,
    { seq, leaseGeneration, dispatcherGeneration, readThrough }: RemoteWrite,
    { taskId, head }: { readonly taskId: string; readonly head: StreamHead },
    outputs: readonly RunOutput[],
  ): Promise<StreamHead> {
    const fence: Fence = { runId, leaseGeneration, dispatcherGeneration };
    const commandId = `run:${runId}:${seq}`;
    const fingerprint = this.secret.hmac('fingerprint', JSON.stringify(outputs));
    const applied = await this.streams.apply(
      { tenantId, taskId, actor: { subject, role }, commandId, fingerprint, fence },
      { type: 'RecordRun', fence, seq, readThrough: readThrough ?? head.state.clientMessages.lastVersion, outputs },
      head,
    );
    return applied.outcome === 'applied' ? applied.head : head;
  }

  /** The task of a run that this worker claimed, whatever has become of it since. Errors: TaskNotFound. */
  private async held(principal: Principal, runId: string): Promise<{ taskId: string; head: StreamHead }> {
    requireWorker(principal);
    const { tenantId, agents, rings } = principal;
    const taskId = runId.slice(0, Math.max(0, runId.lastIndexOf('.')));
    const loaded = taskId === '' ? null : await this.streams.head(tenantId, taskId);
    if (loaded === null) throw taskNotFound(taskId);
    const { head } = loaded;
    const { agent, ring, run } = head.state;
    const visible = agents.includes(agent) && rings.includes(ring);
    const worker = workerOf(principal);
    const current = run?.id === runId && run.worker === worker;
    if (!visible || !(current || (await this.hadClaimed(tenantId, taskId, runId, worker)))) throw taskNotFound(taskId);
    return { taskId, head };
  }

  private async hadClaimed(tenantId: string, taskId: string, runId: string, worker: string): Promise<boolean> {
    const rows = await this.database.run(CLAIMED_BY, [tenantId, taskId, runId, worker]);
    return rows.length > 0;
  }

  private async answer(
    tenantId: string,
    taskId: string,
    { state, key }: StreamHead,
    readThrough: number | undefined,
  ): Promise<RemoteAnswer> {
    const unread = readThrough !== undefined && state.clientMessages.lastVersion > readThrough;
    const rows = unread ? await this.database.run<StoredEvent>(UNREAD, [tenantId, taskId, readThrough]) : [];
    return {
      version: state.version,
      status: state.status,
      cancelRequested: state.cancelDeadline !== null,
      leaseMs: hasOutcome(state) || activeRun(state) === null ? 0 : this.leaseMs,
      messages: rows.flatMap((row) => {
        const message = this.decoder.decode(row, key).content?.message;
        return message === undefined ? [] : [{ version: row.version, message }];
      }),
    };
  }
}

function requireFence(state: TaskState, taskId: string, fence: Fence): void {
  const run = activeRun(state);
  const current =
    run?.id === fence.runId &&
    run.leaseGeneration === fence.leaseGeneration &&
    state.dispatcherGeneration === fence.dispatcherGeneration;
  if (!current) throw fenced(state, taskId);
}
