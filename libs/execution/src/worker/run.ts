import { activeRun, type ConversationMessage, DomainError, type Loss, type RunOutput, TaskFold } from '@app/domain';
import { Database, isUnavailable, sqlStateOf } from '@app/storage';
import { TaskReader, TaskWriter } from '@app/tasks';
import { Injectable } from '@nestjs/common';
import { CancelRequested, RunTimeout } from '../agents/agent.contract.js';
import type { LoadedAgent } from '../agents/agents.js';
import { FailureLog } from '../execution-failure.js';
import { activeFence } from '../queue/active-fence.js';
import type { AppliedTask } from '../queue/apply-to-locked.js';
import { RELEASED, retryAfterAttempt, retryAfterDatabaseError } from '../queue/retry-policy.js';
import { retryWhile } from '../queue/retry-while.js';
import { toMessage } from '../turn/agent-output.js';
import type { AgentTurn, TurnFacts } from '../turn/agent-turn.js';
import { AttemptLost } from '../turn/attempt-lost.js';
import { type MessageRequests, splitConversation } from '../turn/conversation.js';
import { MessageInbox } from './message-inbox.js';
import { RunWriter } from './run-writer.js';

/** What every run of this process needs. */
@Injectable()
export class RunServices {
  constructor(
    readonly database: Database,
    readonly writer: TaskWriter,
    readonly reader: TaskReader,
    readonly failures: FailureLog,
  ) {}
}

/** How long an agent may continue after its run was lost or released. Then the run ends without it. */
const ABORT_GRACE_MS = 30_000;
/** How long an agent may continue after its time limit, to end the run itself. */
const TIMEOUT_GRACE_MS = 5_000;

/** One attempt of an agent at one turn, from its claim to its outcome. */
export class Run {
  readonly runId: string;
  readonly tenantId: string;
  readonly taskId: string;
  private readonly aborter = new AbortController();
  private readonly runWriter: RunWriter;
  private readonly inbox: MessageInbox;
  private readonly requests: MessageRequests = new WeakMap();
  private canceled = false;
  private released = false;
  private lost = false;
  private timedOut: AttemptLost | null = null;
  /** The database rejected the read of the messages. */
  private unreadable = false;
  private stopWaiting: (() => void) | null = null;
  /** On this process's monotonic clock. The database decides by its own clock. */
  private leaseEnd: number;

  constructor(
    private readonly agent: LoadedAgent,
    private readonly claimed: AppliedTask,
    private readonly services: RunServices,
    leaseMs: number,
  ) {
    const { tenantId, taskId, head } = claimed;
    const fence = activeFence(head.state);
    if (fence === null) throw new Error(`task "${taskId}" has no active run`);
    this.runId = fence.runId;
    this.tenantId = tenantId;
    this.taskId = taskId;
    this.leaseEnd = performance.now() + leaseMs;
    this.runWriter = new RunWriter(
      services,
      { tenantId, taskId, agent: agent.profile.name, fence, head },
      { isHeld: () => this.leaseRemains(), onFenced: () => this.markLost() },
    );
    const source = { reader: services.reader, wakeups: services.writer.wakeups };
    const { version } = head.state;
    this.inbox = new MessageInbox(
      source,
      { tenantId, taskId, version },
      {
        onCancelRequested: () => this.cancel(),
        onRunLost: () => this.markLost(),
        onMessageRead: (read) => {
          this.runWriter.readThrough = Math.max(this.runWriter.readThrough, read);
        },
      },
      this.requests,
    );
  }

  leaseRemains(): boolean {
    return performance.now() < this.leaseEnd;
  }

  /** Extends the lease. `sentAt` is when the heartbeat was sent, on the monotonic clock. */
  renew(sentAt: number, leaseMs: number): void {
    this.leaseEnd = sentAt + leaseMs;
  }

  /** Asks the agent to stop. It can still end the run itself, until the cancel deadline. */
  cancel(): void {
    if (this.canceled) return;
    this.canceled = true;
    this.aborter.abort(new CancelRequested('the task is being canceled'));
  }

  /** Ends the run without an outcome, because its lease has ended. Later outputs of the agent are not recorded. */
  markLost(): void {
    this.lost = true;
    this.aborter.abort(
      new DomainError('Fenced', 'this run no longer holds the task; stop working on it', {
        taskId: this.taskId,
        leaseGeneration: 0,
        dispatcherGeneration: 0,
      }),
    );
  }

  /** Releases the run: a different worker can claim the task immediately, and the attempt does not count. */
  release(): void {
    this.released = true;
    if (this.aborter.signal.aborted) this.stopWaiting?.();
    this.aborter.abort(new Error('this process is shutting down'));
  }

  /** Executes the agent up to the outcome. Never rejects: an error is an outcome, or the run is lost. */
  async execute(): Promise<void> {
    const { runWriter } = this;
    const limit = this.limitTime();
    try {
      const turn = await this.turn().catch((error: unknown) => {
        this.unreadable = sqlStateOf(error) !== undefined;
        throw error;
      });
      const ownProcess = this.claimed.head.state.ownProcess === true;
      await this.untilAborted(this.agent.execute(turn, { ownProcess }));
      if (!runWriter.hasEnded) {
        // An agent that returns because its signal aborted has not completed its work.
        this.aborter.signal.throwIfAborted();
        await runWriter.write({ type: 'complete' });
      }
      await runWriter.flush();
    } catch (error) {
      await this.recordFailure(error)
        // An earlier output, or the error itself, may be impossible to record. The outcome is a failure then.
        .catch((rejected: unknown) => this.recordFailure(rejected))
        .catch((unrecorded: unknown) => {
          // After a lost run the outcome is that of the run that has the task now.
          if (!DomainError.is(unrecorded, 'Fenced')) this.report('run outcome not recorded', unrecorded);
        });
    } finally {
      clearTimeout(limit);
      this.inbox.close();
      if (!this.aborter.signal.aborted) this.aborter.abort(new Error('the run has ended'));
    }
  }

  /** Records the outcome of a run whose agent, or whose writes, threw an error. */
  private async recordFailure(error: unknown): Promise<void> {
    if (this.lost || DomainError.is(error, 'Fenced')) return;
    const { runWriter, taskId } = this;
    if (DomainError.is(error, 'InvalidAgentResponse')) {
      await runWriter.recordOutcome({ type: 'fail', invalid: true, message: toMessage(error.message, taskId) });
    } else if (runWriter.hasFailed) {
      this.report('agent output not recorded', error);
      await runWriter.recordOutcome(
        sqlStateOf(error) === undefined
          ? { type: 'fail', message: toMessage('the output of the agent cannot be recorded', taskId) }
          : await this.lossByDatabaseError(error),
      );
    } else if (this.unreadable) {
      this.report('task not read', error);
      await runWriter.recordOutcome(await this.lossByDatabaseError(error));
    } else if (runWriter.hasEnded) {
      // The outcome is recorded. An error that the agent throws after it has no effect.
      await runWriter.flush();
    } else if (this.canceled) {
      await runWriter.write({ type: 'canceled' });
    } else if (this.released) {
      await runWriter.write({ type: 'lost', reason: 'released', retry: RELEASED });
    } else if (this.timedOut !== null || error instanceof AttemptLost) {
      await runWriter.write(await this.lossOf(this.timedOut ?? (error as AttemptLost)));
    } else if (isRetryable(error)) {
      await runWriter.write({ type: 'lost', reason: 'retryable-error', retry: await this.retryAfterBackoff() });
    } else {
      await runWriter.write({ type: 'fail', message: toMessage(textOfError(error), taskId) });
    }
  }

  /** A loss that is no attempt is retried immediately. */
  private async lossOf({ message: cause, loss }: AttemptLost): Promise<RunOutput> {
    const retry = loss.counted === false ? RELEASED : await this.retryAfterBackoff();
    return { type: 'lost', cause, ...loss, retry };
  }

  /** An unexpected error of the database must not end the task, nor be blamed on its agent. */
  private async lossByDatabaseError(error: unknown): Promise<RunOutput> {
    const now = await this.whileLeased(() => this.services.database.now());
    const retry = retryAfterDatabaseError(this.claimed.head.state.leaseGeneration, now);
    return { type: 'lost', reason: 'database-error', cause: `the database reported ${sqlStateOf(error)}`, retry };
  }

  private async retryAfterBackoff(): Promise<Loss['retry']> {
    const now = await this.whileLeased(() => this.services.database.now());
    return retryAfterAttempt(this.agent.profile.retry, this.claimed.head.state.attempts, now);
  }

  /** Aborts the run at its time limit. The agent can still end it within a grace time; otherwise the run is lost. */
  private limitTime(): NodeJS.Timeout | undefined {
    const { timeoutMs } = this.agent;
    if (timeoutMs === Infinity) return undefined;
    return setTimeout(() => {
      if (this.aborter.signal.aborted) return;
      const cause = `the run exceeded its time limit of ${timeoutMs / 1_000} s`;
      this.timedOut = new AttemptLost(cause, { reason: 'timed-out' });
      this.aborter.abort(new RunTimeout(cause));
    }, timeoutMs);
  }

  /** Waits for the agent. An agent that ignores its signal must not occupy a slot forever. */
  private async untilAborted(work: Promise<void>): Promise<void> {
    const { signal } = this.aborter;
    let timer: NodeJS.Timeout | undefined;
    const startGrace = () => {
      const onGraceEnd = () => {
        // A canceled run has until the cancel deadline of the task. After the deadline the run is lost.
        if (this.canceled && !this.lost && !this.released) startGrace();
        else this.stopWaiting!();
      };
      const graceMs = this.released ? 0 : this.timedOut === null ? ABORT_GRACE_MS : TIMEOUT_GRACE_MS;
      timer = setTimeout(onGraceEnd, graceMs);
    };
    const aborted = new Promise<never>((_, reject) => {
      this.stopWaiting = () => reject(signal.reason as Error);
      if (signal.aborted) startGrace();
      else signal.addEventListener('abort', startGrace, { once: true });
    });
    work.catch(() => undefined);
    aborted.catch(() => undefined);
    await Promise.race([work, aborted]).finally(() => {
      // The signal also aborts when the run has ended. A timer that starts then would keep the whole run in memory.
      signal.removeEventListener('abort', startGrace);
      clearTimeout(timer);
    });
  }

  private async turn(): Promise<AgentTurn> {
    const { claimed, requests, runWriter, inbox } = this;
    const { signal } = this.aborter;
    const conversation = splitConversation(await this.messages(), claimed.head.state.run?.trace, requests);
    if (conversation === null) throw new Error('the task has no readable message to process');
    const facts = turnFacts(claimed);
    return { facts, conversation, requests, output: runWriter, inbox: inbox.queue, signal };
  }

  /** Returns the messages of the task as of the claim. Later messages come through the inbox. */
  private async messages(): Promise<ConversationMessage[]> {
    const { tenantId, taskId, head, events } = this.claimed;
    // A new task needs no read, because the append that claimed it has all of its events.
    if (events[0]?.version === 1) {
      const fold = new TaskFold(tenantId, taskId);
      for (const event of events) fold.add(event);
      return fold.messages();
    }
    const { reader } = this.services;
    return this.whileLeased(() => reader.conversation(tenantId, { taskId, state: head.state, key: head.key }));
  }

  /** Repeats a read while the database is unavailable, as long as the lease lasts. */
  private whileLeased<T>(read: () => Promise<T>): Promise<T> {
    const mayRetry = (error: unknown) => {
      if (!isUnavailable(error)) return false;
      if (!this.leaseRemains()) this.markLost();
      this.aborter.signal.throwIfAborted();
      return true;
    };
    return retryWhile(mayRetry, read);
  }

  private report(message: string, error: unknown): void {
    const { taskId, runId } = this;
    this.services.failures.report({ message, error, taskId, runId });
  }
}

function turnFacts({ tenantId, taskId, head }: AppliedTask): TurnFacts {
  const { contextId, ring, owner, upstream = null } = head.state;
  const { id: runId, attempt, worker, leaseGeneration, dispatcherGeneration } = activeRun(head.state)!;
  return {
    task: { tenant: tenantId, id: taskId, contextId, ring, owner },
    attempt,
    lease: { runId, worker, leaseGeneration, dispatcherGeneration },
    upstream,
  };
}

const isRetryable = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && (error as { retryable?: unknown }).retryable === true;

const textOfError = (error: unknown): string => {
  const text = error instanceof Error ? error.message : String(error);
  return text === '' ? 'the agent failed without an error message' : text;
};
