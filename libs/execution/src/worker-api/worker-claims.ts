import { activeRun, DomainError, newId, type Principal, quoted } from '@app/domain';
import { Database, isUnavailable, type TaskHead } from '@app/storage';
import { callerCommand, TaskReader, TaskWriter } from '@app/tasks';
import { Injectable } from '@nestjs/common';
import { BehaviorSubject, filter, fromEvent, merge, timer } from 'rxjs';
import { Agents } from '../agents/agents.js';
import { activeFence } from '../queue/active-fence.js';
import { type AppliedTask, applyToLocked } from '../queue/apply-to-locked.js';
import { RELEASED, retryAfterAttempt } from '../queue/retry-policy.js';
import { retryWhile } from '../queue/retry-while.js';
import { RunQueue } from '../queue/run-queue.js';
import { splitConversation } from '../turn/conversation.js';
import { WaitingClaims } from './waiting-claims.js';
import { failureMessage, requireWorker, type WorkerRun, workerNameOf } from './worker-run.js';

/** The filters and the limits of a claim. No agents: all agents of the worker. */
interface ClaimRequest {
  readonly agents?: readonly string[];
  readonly limit?: number;
  readonly waitMs?: number;
}

/** Claims waiting tasks for remote workers: of the worker's tenant, agents and rings only. */
@Injectable()
export class WorkerClaims {
  private readonly draining = new BehaviorSubject(false);

  constructor(
    private readonly database: Database,
    private readonly writer: TaskWriter,
    private readonly reader: TaskReader,
    private readonly queue: RunQueue,
    private readonly agents: Agents,
    private readonly waiting: WaitingClaims,
  ) {}

  /** Stops claiming runs. Claims that wait return an empty array. */
  stop(): void {
    this.draining.next(true);
  }

  /**
   * Claims up to `limit` waiting tasks, or waits up to `waitMs` for the first one. Runs are released if the client
   * disconnects (`client` aborts), if their content cannot be read, or if `requireAccess` throws, which is called right
   * before the runs are returned. Errors: those of `requireAccess`; Forbidden for a caller that is no worker, or that
   * requests agents of others; Overloaded if too many claims wait, or if the server shuts down.
   */
  async claim(
    principal: Principal,
    { agents = [], limit = 1, waitMs = 0 }: ClaimRequest,
    client: AbortSignal,
    requireAccess: () => Promise<void> = async () => undefined,
  ): Promise<WorkerRun[]> {
    requireWorker(principal);
    const wanted = agents.length === 0 ? principal.agents : agents;
    const foreign = wanted.find((agent) => !principal.agents.includes(agent));
    if (foreign !== undefined) {
      const own = principal.agents.map(quoted).join(', ');
      throw new DomainError(
        'Forbidden',
        `agents: ${quoted(foreign)} is not one of the worker key's agents (${own})`,
        {},
      );
    }
    if (this.draining.value) {
      throw new DomainError('Overloaded', 'the server is shutting down; claim again later', { retryAfterSeconds: 1 });
    }
    const checkBeforeReturn = async () => {
      client.throwIfAborted();
      await requireAccess();
    };
    const tryClaim = () =>
      this.claimNow(principal, wanted, limit, checkBeforeReturn).catch((error: unknown) => {
        if (client.aborted) return [];
        throw error;
      });
    if (client.aborted) return [];
    if (waitMs === 0) return tryClaim();
    const waitEnd = new AbortController();
    const ends = merge(fromEvent(client, 'abort'), this.draining.pipe(filter(Boolean)), timer(waitMs));
    const subscription = ends.subscribe(() => waitEnd.abort());
    return this.waiting
      .untilFound(principal, wanted, waitEnd.signal, tryClaim)
      .finally(() => subscription.unsubscribe());
  }

  private async claimNow(
    principal: Principal,
    agents: readonly string[],
    limit: number,
    checkBeforeReturn: () => Promise<void>,
  ): Promise<WorkerRun[]> {
    const claimed = await this.claimWaiting(principal, agents, limit);
    if (claimed.length === 0) return [];
    let runs: (WorkerRun | null)[];
    try {
      runs = await Promise.all(claimed.map((run) => this.describe(principal, run)));
    } catch (error) {
      await this.release(principal, claimed, { undeliverable: !isUnavailable(error) });
      throw error;
    }
    try {
      await checkBeforeReturn();
    } catch (error) {
      await this.release(principal, claimed);
      throw error;
    }
    return runs.filter((run) => run !== null);
  }

  private async claimWaiting(
    principal: Principal,
    agents: readonly string[],
    limit: number,
  ): Promise<readonly AppliedTask[]> {
    const { tenantId, rings, subject, role } = principal;
    const worker = workerNameOf(principal);
    const { applied } = await applyToLocked(this.database, this.writer, {
      name: 'claim',
      actor: { subject, role },
      lock: (executor) => this.queue.lockWaitingForWorker({ tenantId, agents, rings }, limit, executor),
      // The run id contains the task id, so that a write finds its task even after the run has left the queue.
      commandFor: ({ taskId }) => ({ type: 'ClaimRun', claim: { runId: `${taskId}.${newId()}`, worker } }),
    });
    return applied;
  }

  /** Returns the run for the response. Null: the task has no readable message, and fails. */
  private async describe(principal: Principal, claimed: AppliedTask): Promise<WorkerRun | null> {
    const { taskId, head } = claimed;
    const { state, key } = head;
    const messages = await this.reader.conversation(principal.tenantId, { taskId, state, key });
    const conversation = splitConversation(messages, state.run?.trace);
    if (conversation === null) {
      await this.failWithoutMessage(principal, claimed);
      return null;
    }
    const { id: runId, attempt, leaseGeneration, dispatcherGeneration } = activeRun(state)!;
    return {
      runId,
      taskId,
      contextId: state.contextId,
      ring: state.ring,
      agent: state.agent,
      attempt,
      leaseGeneration,
      dispatcherGeneration,
      leaseMs: this.queue.leaseMs,
      version: state.version,
      ...conversation,
    };
  }

  private async failWithoutMessage(principal: Principal, { taskId, head }: AppliedTask): Promise<void> {
    const fence = activeFence(head.state)!;
    const message = failureMessage('the task has no readable message to process', fence.runId);
    const readThrough = head.state.clientMessages.lastVersion;
    await this.writer.apply(
      { ...callerCommand(principal, taskId, 'fail'), fence },
      { type: 'RecordRun', fence, seq: 1, readThrough, outputs: [{ type: 'fail', message }] },
      head,
    );
  }

  /**
   * Releases runs that no worker has received. A different worker can claim them immediately, and no attempt is used. The
   * write is repeated while the database is unavailable and the leases last. An `undeliverable` run uses an attempt,
   * because its next claim may fail for the same reason.
   */
  private async release(
    principal: Principal,
    claimed: readonly AppliedTask[],
    { undeliverable = false }: { readonly undeliverable?: boolean } = {},
  ): Promise<void> {
    const leaseEnd = performance.now() + this.queue.leaseMs;
    const mayRetry = (error: unknown) => isUnavailable(error) && !this.draining.value && performance.now() < leaseEnd;
    const reason = undeliverable ? 'retryable-error' : 'released';
    const releaseRun = async ({ taskId, head }: AppliedTask): Promise<void> => {
      const fence = activeFence(head.state)!;
      const envelope = { ...callerCommand(principal, taskId, 'release'), fence };
      await retryWhile(mayRetry, async () => {
        const retry = undeliverable ? await this.retryOf(head) : RELEASED;
        await this.writer.apply(envelope, { type: 'LoseRun', fence, reason, retry }, head);
      }).catch(() => {
        // Fenced: the run has ended already. After any other error it ends with its lease.
      });
    };
    await Promise.all(claimed.map(releaseRun));
  }

  private async retryOf({ state: { agent, attempts } }: TaskHead) {
    return retryAfterAttempt(this.agents.retryPolicyOf(agent), attempts, await this.database.now());
  }
}
