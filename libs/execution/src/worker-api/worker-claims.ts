import { setTimeout as sleep } from 'node:timers/promises';
import {
  activeRun,
  DomainError,
  type Fence,
  type Message,
  newId,
  type Principal,
  type RetryPolicy,
  retryAt,
} from '@app/domain';
import { type Database, isUnavailable, type StreamHead } from '@app/storage';
import { newInternalCommand, type TaskReader, type TaskWriter } from '@app/tasks';
import { BehaviorSubject, filter, fromEvent, merge, timer } from 'rxjs';
import { HANDED_BACK, refusal, type RemoteRun, requireWorker, workerOf } from './worker-run.js';
import type { RunQueue } from '../queue/run-queue.js';
import { WaitingClaims } from './waiting-claims.js';

const POLL_MS = 1_000;
const RETRY_MS = 50;

/** A run that is claimed, and that nobody has been told of yet. */
interface Held {
  readonly taskId: string;
  readonly head: StreamHead;
}

/** Hands out waiting work to workers in other processes and languages: of their tenant, agents and rings, and no other. */
export class RemoteClaims {
  private readonly draining = new BehaviorSubject(false);
  private readonly waiting: WaitingClaims;

  constructor(
    private readonly database: Database,
    private readonly streams: TaskWriter,
    private readonly reader: TaskReader,
    private readonly queue: RunQueue,
    private readonly retryPolicy: (agent: string) => RetryPolicy,
    private readonly leaseMs: number,
    pollMs = POLL_MS,
  ) {
    this.waiting = new WaitingClaims(streams.wakeups.queuedAgents, pollMs);
  }

  /** Hands out no more runs: whoever waits for one is answered with none. */
  stop(): void {
    this.draining.next(true);
  }

  /**
   * Claims up to `limit` waiting tasks, or waits up to `waitMs` for the first. Nothing is left with a client that has
   * gone, or that cannot be told what it got; `permit` is asked before it is told, and throws when it may not be. Errors:
   * what `permit` throws; Forbidden for a caller that is no worker, or asks for agents that
   * are not its own; Overloaded when too many claims wait, or the server shuts down.
   */
  async claim(
    principal: Principal,
    { agents = [], limit = 1, waitMs = 0 }: { agents?: readonly string[]; limit?: number; waitMs?: number },
    client: AbortSignal,
    permit: () => Promise<void> = async () => undefined,
  ): Promise<RemoteRun[]> {
    requireWorker(principal);
    const wanted = agents.length === 0 ? principal.agents : agents;
    const foreign = wanted.find((agent) => !principal.agents.includes(agent));
    if (foreign !== undefined) throw new DomainError('Forbidden', `the credential is not for agent "${foreign}"`, {});
    if (this.draining.value) {
      throw new DomainError('Overloaded', 'the server is shutting down; claim again later', { retryAfterSeconds: 1 });
    }
    const check = async () => {
      client.throwIfAborted();
      await permit();
    };
    const look = () =>
      this.claimNow(principal, wanted, limit, check).catch((error: unknown) => {
        if (client.aborted) return [];
        throw error;
      });
    if (client.aborted) return [];
    if (waitMs === 0) return look();
    const over = new AbortController();
    const ends = merge(fromEvent(client, 'abort'), this.draining.pipe(filter(Boolean)), timer(waitMs));
    const subscription = ends.subscribe(() => over.abort());
    return this.waiting.untilFound(principal, wanted, over.signal, look).finally(() => subscription.unsubscribe());
  }

  private async claimNow(
    principal: Principal,
    agents: readonly string[],
    limit: number,
    check: () => Promise<void>,
  ): Promise<RemoteRun[]> {
    const held = await this.take(principal, agents, limit);
    if (held.length === 0) return [];
    let runs: (RemoteRun | null)[];
    try {
      runs = await Promise.all(held.map((run) => this.describe(principal, run)));
    } catch (error) {
      await this.handBack(principal, held, !isUnavailable(error));
      throw error;
    }
    try {
      await check();
    } catch (error) {
      await this.handBack(principal, held);
      throw error;
    }
    return runs.flatMap((run) => run ?? []);
  }

  private async take(principal: Principal, agents: readonly string[], limit: number): Promise<Held[]> {
    const { tenantId, rings, subject, role } = principal;
    const claimed = await this.database.transaction(async (executor) => {
      const appended = [];
      for (const task of await this.queue.waitingFor({ tenantId, agents, rings }, limit, executor)) {
        const { taskId, head } = task;
        const result = await this.streams.applyLocked(
          { tenantId, taskId, actor: { subject, role }, ...newInternalCommand('claim') },
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
    return claimed.map(({ task: { taskId }, result: { head } }) => ({ taskId, head }));
  }

  /** Null, and the task has failed, when there is no message left that could be read. */
  private async describe({ tenantId, subject, role }: Principal, { taskId, head }: Held): Promise<RemoteRun | null> {
    const { state, key } = head;
    const said = await this.reader.conversation(tenantId, { taskId, state, key });
    const at = said.findLastIndex((message) => message.role === 'user');
    const message = said[at];
    const run = activeRun(state)!;
    const { id: runId, leaseGeneration, dispatcherGeneration } = run;
    if (message === undefined) {
      const fence: Fence = { runId, leaseGeneration, dispatcherGeneration };
      const why: Message = refusal('the task has no message to work on', runId);
      await this.streams.apply(
        { tenantId, taskId, actor: { subject, role }, ...newInternalCommand('refuse'), fence },
        {
          type: 'RecordRun',
          fence,
          seq: 1,
          readThrough: state.clientMessages.lastVersion,
          outputs: [{ type: 'fail', message: why }],
        },
        head,
      );
      return null;
    }
    return {
      runId,
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
    };
  }

  /**
   * Nobody has been told of these runs: another worker takes them at once, and no attempt is used. A database that was away
   * may keep this from being written, too: then it is tried again, while a lease could hold. What is `untellable` for
   * another reason is lost like a run that ended so, or it would come back without end.
   */
  private async handBack(
    { tenantId, subject, role }: Principal,
    held: readonly Held[],
    untellable = false,
  ): Promise<void> {
    const leaseEnds = performance.now() + this.leaseMs;
    const giveBack = async ({ taskId, head }: Held): Promise<void> => {
      const { id: runId, leaseGeneration, dispatcherGeneration } = activeRun(head.state)!;
      const fence: Fence = { runId, leaseGeneration, dispatcherGeneration };
      const envelope = { tenantId, taskId, actor: { subject, role }, ...newInternalCommand('hand-back'), fence };
      for (;;) {
        try {
          const retry = untellable ? await this.retryOf(head) : HANDED_BACK;
          await this.streams.apply(
            envelope,
            { type: 'LoseRun', fence, reason: untellable ? 'retryable-error' : 'released', retry },
            head,
          );
          return;
        } catch (error) {
          // Fenced: it is over already. Whatever cannot be handed back ends with its lease.
          if (!isUnavailable(error) || this.draining.value || performance.now() >= leaseEnds) return;
          await sleep(RETRY_MS);
        }
      }
    };
    await Promise.all(held.map(giveBack));
  }

  private async retryOf({ state: { agent, attempts } }: StreamHead) {
    const policy = this.retryPolicy(agent);
    const now = await this.database.now();
    return { maxAttempts: policy.attempts, notBefore: retryAt(now, attempts, policy, Math.random()) };
  }
}
