import {
  activeRun,
  DomainError,
  type Fence,
  fenced,
  hasOutcome,
  type Message,
  newId,
  type Principal,
  type RunOutput,
  taskNotFound,
  type TaskState,
} from '@app/domain';
import type { NamedStatement, ServerSecret, StoredEvent, StreamHead } from '@app/storage';
import { type CommandEnvelope, freshCommand, type TaskReader, type TaskStreams } from '@app/tasks';
import { BehaviorSubject, filter, fromEvent, interval, merge, timer } from 'rxjs';
import type { Agents } from './agents.js';
import {
  HANDED_BACK,
  outcomeOf,
  outputOf,
  type RemoteAnswer,
  type RemoteOutcome,
  type RemoteOutput,
  type RemoteRun,
  type RemoteWrite,
} from './remote-run.js';
import type { RunQueue } from './run-queue.js';

const POLL_MS = 1_000;

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

type Claimed = RemoteRun & { readonly head: StreamHead };

/**
 * Runs of workers in other processes and languages, which speak HTTP. A worker sees what it holds, of its agents and
 * rings, and nothing else. The fence and the sequence number are those of every worker.
 */
export class RemoteRuns {
  private readonly draining = new BehaviorSubject(false);

  constructor(
    private readonly streams: TaskStreams,
    private readonly reader: TaskReader,
    private readonly queue: RunQueue,
    private readonly agents: Agents,
    private readonly secret: ServerSecret,
    private readonly leaseMs: number,
    /** How long a claim waits for a wake-up before it looks again all the same. */
    private readonly pollMs = POLL_MS,
  ) {}

  /** Hands out no more runs: whoever waits for one is answered with none. */
  stop(): void {
    this.draining.next(true);
  }

  /**
   * Claims up to `limit` waiting tasks, or waits up to `waitMs` for the first. Nothing is left with a client that has
   * gone. Errors: Forbidden for a caller that is no worker, or asks for agents that are not its own; Overloaded when the
   * server shuts down.
   */
  async claim(
    principal: Principal,
    { agents = [], limit = 1, waitMs = 0 }: { agents?: readonly string[]; limit?: number; waitMs?: number },
    client: AbortSignal,
  ): Promise<RemoteRun[]> {
    requireWorker(principal);
    const wanted = agents.length === 0 ? principal.agents : agents;
    const foreign = wanted.find((agent) => !principal.agents.includes(agent));
    if (foreign !== undefined) throw new DomainError('Forbidden', `the credential is not for agent "${foreign}"`, {});
    if (this.draining.value) {
      throw new DomainError('Overloaded', 'the server is shutting down; claim again later', { retryAfterSeconds: 1 });
    }
    const claimed = await this.untilClaimed(principal, wanted, { limit, waitMs }, client);
    if (client.aborted) await this.handBack(principal, claimed);
    return claimed.map(({ head: _head, ...run }) => run);
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
  finish(principal: Principal, runId: string, write: RemoteWrite, outcome: RemoteOutcome): Promise<RemoteAnswer> {
    return this.record(principal, runId, write, (state) => [
      outcomeOf(outcome, runId, write.seq, state.attempts, this.agents.retryOf(state.agent)),
    ]);
  }

  private async untilClaimed(
    principal: Principal,
    agents: readonly string[],
    { limit, waitMs }: { limit: number; waitMs: number },
    client: AbortSignal,
  ): Promise<Claimed[]> {
    let over = waitMs === 0;
    let rung = false;
    let wake = () => {};
    const ends = merge(fromEvent(client, 'abort'), this.draining.pipe(filter(Boolean)), timer(waitMs));
    const queued = this.streams.wakeups.queued.pipe(filter((agent) => agents.includes(agent)));
    // Listens before it looks: what is queued in between is heard.
    const subscription = merge(queued, interval(this.pollMs)).subscribe(() => {
      rung = true;
      wake();
    });
    subscription.add(
      ends.subscribe(() => {
        over = true;
        wake();
      }),
    );
    try {
      for (;;) {
        rung = false;
        if (client.aborted) return [];
        const claimed = await this.claimNow(principal, agents, limit);
        if (claimed.length > 0 || over) return claimed;
        if (!rung) await new Promise<void>((resolve) => (wake = resolve));
        if (over) return [];
      }
    } finally {
      subscription.unsubscribe();
    }
  }

  private async claimNow(principal: Principal, agents: readonly string[], limit: number): Promise<Claimed[]> {
    const { tenantId, rings, subject, role } = principal;
    const claimed = await this.streams.log.database.transaction(async (executor) => {
      const appended = [];
      for (const task of await this.queue.waitingFor({ tenantId, agents, rings }, limit, executor)) {
        const { taskId, head } = task;
        const result = await this.streams.applyLocked(
          { tenantId, taskId, actor: { subject, role }, ...freshCommand('claim') },
          // The task is part of the run's name, so that a write finds it, also after the run has left the queue.
          { type: 'ClaimRun', claim: { runId: `${taskId}.${newId()}`, worker: workerOf(principal) } },
          head,
          executor,
        );
        if (result !== null) appended.push({ task, result });
      }
      return appended;
    });
    for (const { task, result } of claimed) this.streams.publish(task, result);
    const runs = await Promise.all(
      claimed.map(({ task, result }) => this.describe(principal, task.taskId, result.head)),
    );
    return runs.flatMap((run) => run ?? []);
  }

  /** Null, and the task has failed, when there is no message left that could be read. */
  private async describe(principal: Principal, taskId: string, head: StreamHead): Promise<Claimed | null> {
    const { state, key } = head;
    const said = await this.reader.conversation(principal.tenantId, { taskId, state, key });
    const at = said.findLastIndex((message) => message.role === 'user');
    const message = said[at];
    const run = activeRun(state)!;
    const { leaseGeneration, dispatcherGeneration } = run;
    if (message === undefined) {
      const why = saying('the task has no message to work on', run.id);
      const write = { leaseGeneration, dispatcherGeneration, seq: 1 };
      await this.apply(principal, run.id, write, { taskId, head }, [{ type: 'fail', message: why }]);
      return null;
    }
    return {
      runId: run.id,
      taskId,
      contextId: state.contextId,
      ring: state.ring,
      agent: state.agent,
      attempt: run.attempt,
      leaseGeneration,
      dispatcherGeneration,
      leaseMs: this.leaseMs,
      version: state.version,
      message,
      history: said.filter((other) => other !== message),
      head,
    };
  }

  /** Nobody has these runs: another worker takes them at once, and no attempt is used. */
  private async handBack(principal: Principal, claimed: readonly Claimed[]): Promise<void> {
    for (const { taskId, runId, leaseGeneration, dispatcherGeneration, head } of claimed) {
      const fence = { runId, leaseGeneration, dispatcherGeneration };
      const envelope = this.envelope(principal, taskId, freshCommand('hand-back'), fence);
      await this.streams.apply(envelope, { type: 'LoseRun', fence, reason: 'released', retry: HANDED_BACK }, head);
    }
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
      const message = saying(error.message, runId);
      await this.apply(principal, runId, write, held, [{ type: 'fail', invalid: true, message }]);
      throw error;
    }
  }

  private async apply(
    principal: Principal,
    runId: string,
    { seq, leaseGeneration, dispatcherGeneration, readThrough }: RemoteWrite,
    { taskId, head }: { readonly taskId: string; readonly head: StreamHead },
    outputs: readonly RunOutput[],
  ): Promise<StreamHead> {
    const fence: Fence = { runId, leaseGeneration, dispatcherGeneration };
    const commandId = `run:${runId}:${seq}`;
    const fingerprint = this.secret.hmac('fingerprint', JSON.stringify(outputs));
    const applied = await this.streams.apply(
      this.envelope(principal, taskId, { commandId, fingerprint }, fence),
      { type: 'RecordRun', fence, seq, readThrough: readThrough ?? head.state.clientMessages.lastVersion, outputs },
      head,
    );
    return applied.outcome === 'applied' ? applied.head : head;
  }

  private envelope(
    { tenantId, subject, role }: Principal,
    taskId: string,
    command: Pick<CommandEnvelope, 'commandId' | 'fingerprint'>,
    fence: Fence,
  ): CommandEnvelope {
    return { tenantId, taskId, actor: { subject, role }, ...command, fence };
  }

  /** The task of a run that this worker claimed, whatever has become of it since. Errors: TaskNotFound. */
  private async held(principal: Principal, runId: string): Promise<{ taskId: string; head: StreamHead }> {
    requireWorker(principal);
    const { tenantId, agents, rings } = principal;
    const taskId = runId.slice(0, Math.max(0, runId.lastIndexOf('.')));
    const loaded = taskId === '' ? null : await this.streams.log.head(tenantId, taskId);
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
    const rows = await this.streams.log.database.run(CLAIMED_BY, [tenantId, taskId, runId, worker]);
    return rows.length > 0;
  }

  private async answer(
    tenantId: string,
    taskId: string,
    { state, key }: StreamHead,
    readThrough: number | undefined,
  ): Promise<RemoteAnswer> {
    const unread = readThrough !== undefined && state.clientMessages.lastVersion > readThrough;
    const { log } = this.streams;
    const rows = unread ? await log.database.run<StoredEvent>(UNREAD, [tenantId, taskId, readThrough]) : [];
    return {
      version: state.version,
      status: state.status,
      cancelRequested: state.cancelDeadline !== null,
      leaseMs: hasOutcome(state) || activeRun(state) === null ? 0 : this.leaseMs,
      messages: rows.flatMap((row) => {
        const message = log.open(row, key).content?.message;
        return message === undefined ? [] : [{ version: row.version, message }];
      }),
    };
  }
}

const workerOf = ({ subject }: Principal): string => `remote:${subject}`;

const saying = (text: string, runId: string): Message => ({
  messageId: `${runId}:refused`,
  role: 'agent',
  parts: [{ text }],
});

function requireWorker({ role }: Principal): void {
  if (role !== 'worker') throw new DomainError('Forbidden', 'this needs a worker key (acta keys create --worker)', {});
}

function requireFence(state: TaskState, taskId: string, fence: Fence): void {
  const run = activeRun(state);
  const current =
    run?.id === fence.runId &&
    run.leaseGeneration === fence.leaseGeneration &&
    state.dispatcherGeneration === fence.dispatcherGeneration;
  if (!current) throw fenced(state, taskId);
}
