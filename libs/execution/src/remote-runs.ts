import {
  activeRun,
  type AgentProfile,
  derivedId,
  DomainError,
  type Fence,
  fenced,
  hasOutcome,
  type Message,
  newId,
  type Principal,
  retryAt,
  type RunOutput,
  taskNotFound,
  type TaskState,
} from '@app/domain';
import type { ServerSecret, StreamHead } from '@app/storage';
import { type AgentDirectory, freshCommandId, type TaskReader, type TaskStreams } from '@app/tasks';
import { firstValueFrom, filter, race, timer } from 'rxjs';
import type { RunQueue } from './run-queue.js';

/** What a remote worker says, before it has a message id. */
type Saying = Pick<Message, 'parts' | 'metadata'>;

export type RemoteOutput =
  { readonly type: 'working'; readonly message?: Saying } | Extract<RunOutput, { type: 'artifact' }>;

export interface RemoteOutcome {
  readonly type: 'complete' | 'fail' | 'reject' | 'requireInput' | 'requireAuth' | 'reply' | 'canceled' | 'retry';
  readonly message?: Saying;
}

/** A run as a remote worker gets it. Every later call presents both generations and a rising `seq`. */
export interface RemoteRun {
  readonly runId: string;
  readonly taskId: string;
  readonly contextId: string;
  readonly ring: string;
  readonly agent: string;
  readonly attempt: number;
  readonly leaseGeneration: number;
  readonly dispatcherGeneration: number;
  readonly leaseMs: number;
  readonly version: number;
  readonly message: Message;
  readonly history: readonly Message[];
}

export interface RemoteWrite {
  readonly leaseGeneration: number;
  readonly dispatcherGeneration: number;
  readonly seq: number;
  /** Version of the newest message that the worker has. */
  readonly readThrough?: number;
}

/** What a worker must know after each call. */
export interface RemoteAnswer {
  readonly version: number;
  readonly status: TaskState['status'];
  readonly cancelRequested: boolean;
  /** How long the run is held from now on; 0 once it is over. */
  readonly leaseMs: number;
  readonly messages: readonly { readonly version: number; readonly message: Message }[];
}

const POLL_MS = 1_000;
const MESSAGES = 100;
const NO_PAYLOAD = Buffer.alloc(32);

/**
 * Runs of workers in other processes and languages, which speak HTTP. A worker sees what it holds, of its agents and
 * rings, and nothing else. The fence and the sequence number are those of every worker.
 */
export class RemoteRuns {
  constructor(
    private readonly streams: TaskStreams,
    private readonly reader: TaskReader,
    private readonly queue: RunQueue,
    private readonly agents: AgentDirectory,
    private readonly secret: ServerSecret,
    private readonly leaseMs: number,
  ) {}

  /**
   * Claims up to `limit` waiting tasks, or waits up to `waitMs` for the first. Errors: Forbidden for a caller that is no
   * worker, or asks for agents that are not its own.
   */
  async claim(
    principal: Principal,
    { agents, limit = 1, waitMs = 0 }: { agents?: readonly string[]; limit?: number; waitMs?: number },
    signal: AbortSignal,
  ): Promise<RemoteRun[]> {
    requireWorker(principal);
    const wanted = agents ?? principal.agents;
    const foreign = wanted.find((agent) => !principal.agents.includes(agent));
    if (foreign !== undefined) throw new DomainError('Forbidden', `the credential is not for agent "${foreign}"`, {});
    const until = performance.now() + waitMs;
    for (;;) {
      const runs = await this.claimNow(principal, wanted, limit);
      const left = until - performance.now();
      if (runs.length > 0 || left <= 0 || signal.aborted) return runs;
      const queued = this.streams.wakeups.queued.pipe(filter((agent) => wanted.includes(agent)));
      await firstValueFrom(race(queued, timer(Math.min(left, POLL_MS))));
    }
  }

  /** Renews the lease. Errors: as `publish`. */
  async heartbeat(principal: Principal, runId: string, write: Omit<RemoteWrite, 'seq'>): Promise<RemoteAnswer> {
    const { taskId, head } = await this.held(principal, runId);
    requireFence(head.state, taskId, { runId, ...write });
    const renewed = await this.queue.heartbeat([{ tenantId: principal.tenantId, taskId, runId }], this.leaseMs);
    if (renewed.length === 0) throw fenced(head.state, taskId);
    return this.answer(principal.tenantId, taskId, head.state, write.readThrough);
  }

  /**
   * Records what a run says; a repeated `seq` adds nothing. Errors: TaskNotFound for a run that this worker never held,
   * Fenced (with the current generations) for one that it holds no longer, InvalidAgentResponse.
   */
  publish(
    principal: Principal,
    runId: string,
    write: RemoteWrite,
    outputs: readonly RemoteOutput[],
  ): Promise<RemoteAnswer> {
    const said = outputs.map((output, at): RunOutput => {
      if (output.type === 'artifact') return output;
      const message = messageOf(output.message, runId, write.seq, at);
      return message === undefined ? { type: 'status' } : { type: 'status', message };
    });
    return this.record(principal, runId, write, () => said);
  }

  /** Records the outcome of the turn. Errors: as `publish`. */
  finish(principal: Principal, runId: string, write: RemoteWrite, outcome: RemoteOutcome): Promise<RemoteAnswer> {
    return this.record(principal, runId, write, (state) => [
      outputOf(outcome, messageOf(outcome.message, runId, write.seq, 0), state, this.agents.find(state.agent)),
    ]);
  }

  private async claimNow(principal: Principal, agents: readonly string[], limit: number): Promise<RemoteRun[]> {
    const { tenantId, rings, subject } = principal;
    const claimed = await this.streams.log.database.transaction(async (executor) => {
      const appended = [];
      for (const task of await this.queue.waitingFor({ tenantId, agents, rings }, limit, executor)) {
        const { taskId, head } = task;
        const envelope = { tenantId, taskId, actor: { subject, role: principal.role } };
        const result = await this.streams.applyLocked(
          { ...envelope, commandId: freshCommandId('claim'), fingerprint: NO_PAYLOAD },
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
    return Promise.all(claimed.map(({ task, result }) => this.describe(tenantId, task.taskId, result.head)));
  }

  private async describe(tenantId: string, taskId: string, { state, key }: StreamHead): Promise<RemoteRun> {
    const said = await this.reader.conversation(tenantId, { taskId, state, key });
    const at = said.findLastIndex((message) => message.role === 'user');
    const run = activeRun(state)!;
    return {
      runId: run.id,
      taskId,
      contextId: state.contextId,
      ring: state.ring,
      agent: state.agent,
      attempt: run.attempt,
      leaseGeneration: run.leaseGeneration,
      dispatcherGeneration: run.dispatcherGeneration,
      leaseMs: this.leaseMs,
      version: state.version,
      message: said[at]!,
      history: said.slice(0, at),
    };
  }

  private async record(
    principal: Principal,
    runId: string,
    write: RemoteWrite,
    outputs: (state: TaskState) => readonly RunOutput[],
  ): Promise<RemoteAnswer> {
    const { tenantId, subject, role } = principal;
    const { taskId, head } = await this.held(principal, runId);
    const { seq, leaseGeneration, dispatcherGeneration } = write;
    const fence: Fence = { runId, leaseGeneration, dispatcherGeneration };
    const said = outputs(head.state);
    const applied = await this.streams.apply(
      {
        tenantId,
        taskId,
        actor: { subject, role },
        commandId: `run:${runId}:${seq}`,
        fingerprint: this.secret.hmac('fingerprint', JSON.stringify(said)),
        fence,
      },
      {
        type: 'RecordRun',
        fence,
        seq,
        readThrough: write.readThrough ?? head.state.clientMessages.lastVersion,
        outputs: said,
      },
      head,
    );
    const { state } = applied.outcome === 'applied' ? applied.head : head;
    return this.answer(tenantId, taskId, state, write.readThrough);
  }

  /** The task of a run that this worker claimed, whatever has become of it since. */
  private async held(principal: Principal, runId: string): Promise<{ taskId: string; head: StreamHead }> {
    requireWorker(principal);
    const taskId = runId.slice(0, Math.max(0, runId.lastIndexOf('.')));
    const loaded = taskId === '' ? null : await this.streams.log.head(principal.tenantId, taskId);
    const state = loaded?.head.state;
    const own = state !== undefined && principal.agents.includes(state.agent) && principal.rings.includes(state.ring);
    if (!own) throw taskNotFound(taskId);
    return { taskId, head: loaded!.head };
  }

  private async answer(
    tenantId: string,
    taskId: string,
    state: TaskState,
    readThrough: number | undefined,
  ): Promise<RemoteAnswer> {
    const unread = readThrough !== undefined && state.clientMessages.lastVersion > readThrough;
    const events = unread ? await this.streams.log.read(tenantId, taskId, readThrough, MESSAGES) : [];
    return {
      version: state.version,
      status: state.status,
      cancelRequested: state.cancelDeadline !== null,
      leaseMs: hasOutcome(state) || activeRun(state) === null ? 0 : this.leaseMs,
      messages: events.flatMap(({ type, version, content }) =>
        type === 'MessageAccepted' && content?.message !== undefined ? [{ version, message: content.message }] : [],
      ),
    };
  }
}

const workerOf = ({ subject }: Principal): string => `remote:${subject}`;

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

/** Ids derive from the write, so that a repeated one says the same. */
function messageOf(saying: Saying | undefined, runId: string, seq: number, at: number): Message | undefined {
  return saying === undefined ? undefined : { messageId: derivedId('said', runId, seq, at), role: 'agent', ...saying };
}

function outputOf(
  { type }: RemoteOutcome,
  message: Message | undefined,
  state: TaskState,
  agent: AgentProfile | undefined,
): RunOutput {
  const said = message === undefined ? {} : { message };
  switch (type) {
    case 'requireInput':
      return { type: 'input-required', message: message! };
    case 'requireAuth':
      return { type: 'auth-required', message: message! };
    case 'reply':
      return { type: 'reply', message: message! };
    case 'retry': {
      const policy = agent?.retry ?? { attempts: 5, backoffMs: 1_000 };
      const notBefore = retryAt(Date.now(), state.attempts, policy, Math.random());
      return { type: 'lost', reason: 'retryable-error', retry: { maxAttempts: policy.attempts, notBefore } };
    }
    case 'complete':
    case 'fail':
    case 'reject':
    case 'canceled':
      return { type, ...said };
  }
}
