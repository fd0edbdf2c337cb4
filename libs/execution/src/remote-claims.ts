import { activeRun, DomainError, type Fence, type Message, newId, type Principal } from '@app/domain';
import type { StreamHead } from '@app/storage';
import { freshCommand, type TaskReader, type TaskStreams } from '@app/tasks';
import { BehaviorSubject, filter, fromEvent, interval, merge, timer } from 'rxjs';
import { HANDED_BACK, refusal, type RemoteRun, requireWorker, workerOf } from './remote-run.js';
import type { RunQueue } from './run-queue.js';

const POLL_MS = 1_000;

type Claimed = RemoteRun & { readonly head: StreamHead };

/** Hands out waiting work to workers in other processes and languages: of their tenant, agents and rings, and no other. */
export class RemoteClaims {
  private readonly draining = new BehaviorSubject(false);

  constructor(
    private readonly streams: TaskStreams,
    private readonly reader: TaskReader,
    private readonly queue: RunQueue,
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
    const { tenantId, subject, role } = principal;
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
        { tenantId, taskId, actor: { subject, role }, ...freshCommand('refuse'), fence },
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
      head,
    };
  }

  /** Nobody has these runs: another worker takes them at once, and no attempt is used. */
  private async handBack({ tenantId, subject, role }: Principal, claimed: readonly Claimed[]): Promise<void> {
    for (const { taskId, runId, leaseGeneration, dispatcherGeneration, head } of claimed) {
      const fence: Fence = { runId, leaseGeneration, dispatcherGeneration };
      await this.streams.apply(
        { tenantId, taskId, actor: { subject, role }, ...freshCommand('hand-back'), fence },
        { type: 'LoseRun', fence, reason: 'released', retry: HANDED_BACK },
        head,
      );
    }
  }
}
