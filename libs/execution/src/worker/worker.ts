import { hostname } from 'node:os';
import { randomUUID } from 'node:crypto';
import { newId, SYSTEM_ACTOR } from '@app/domain';
import { type RunSlot, RunSlots } from '@app/tasks';
import { Injectable } from '@nestjs/common';
import type { Subscription } from 'rxjs';
import { Agents } from '../agents/agents.js';
import { ExecutionOptions } from '../execution-options.js';
import { type AppliedTask, applyToLocked } from '../queue/apply-to-locked.js';
import { RunQueue } from '../queue/run-queue.js';
import { LeaseRenewal } from './lease-renewal.js';
import { Run, RunServices } from './run.js';

const CLAIM_BATCH = 32;
/** How long released runs may take to end. */
const RELEASE_TIMEOUT_MS = 5_000;

/** Claims runs, executes them, and renews their leases. */
@Injectable()
export class Worker extends RunSlots {
  readonly id = `${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`;
  private readonly runs = new Map<string, Run>();
  private readonly leaseRenewal: LeaseRenewal;
  private readonly occupiedSlots = new Map<string, number>();
  private readonly idleWaiters: (() => void)[] = [];
  private subscription: Subscription | null = null;
  private pollTimer: NodeJS.Timeout | null = null;
  private claiming: Promise<void> | null = null;
  /** The queue must be polled once more after the current poll. */
  private rerunRequested = false;
  /** The last poll found no free slot. */
  private noFreeSlot = false;
  /** Agents whose tasks may wait in the queue because they had no free slot. */
  private readonly backlog = new Set<string>();
  private draining = true;

  constructor(
    private readonly services: RunServices,
    private readonly queue: RunQueue,
    private readonly agents: Agents,
    private readonly options: ExecutionOptions,
  ) {
    super();
    this.leaseRenewal = new LeaseRenewal(queue, this.runs, services.failures);
  }

  /** Number of active runs. */
  get running(): number {
    return this.runs.size;
  }

  start(): void {
    if (this.options.concurrency === 0) return;
    this.draining = false;
    this.subscription = this.services.writer.wakeups.queuedAgents.subscribe(() => this.pollQueue());
    this.pollTimer = setInterval(() => this.pollQueue(), this.options.pollMs);
    this.leaseRenewal.start();
    this.pollQueue();
  }

  /** Stops claiming runs, waits up to `graceMs` for active runs to end, and releases the others. */
  async stop(graceMs = this.options.drainMs): Promise<void> {
    this.draining = true;
    this.subscription?.unsubscribe();
    if (this.pollTimer !== null) clearInterval(this.pollTimer);
    await this.claiming;
    await this.untilIdle(graceMs);
    for (const run of this.runs.values()) run.release();
    await this.untilIdle(RELEASE_TIMEOUT_MS);
    this.leaseRenewal.stop();
  }

  override reserve(agent: string): RunSlot | null {
    if (this.draining || this.queue.limitsTenants) return null;
    if (!this.agents.runnable().some(({ name }) => name === agent)) return null;
    if (this.freeSlots(agent) < 1) {
      this.backlog.add(agent);
      return null;
    }
    this.occupy(agent, 1);
    let isReserved = true;
    return {
      claim: { runId: newId(), worker: this.id },
      start: (claimed) => {
        isReserved = false;
        this.execute(agent, claimed);
      },
      release: () => {
        if (isReserved) this.occupy(agent, -1);
        isReserved = false;
      },
    };
  }

  private pollQueue(): void {
    this.rerunRequested = true;
    if (this.draining) return;
    this.claiming ??= this.claimAll()
      .catch((error: unknown) => this.services.failures.report({ message: 'claim failed', error }))
      .finally(() => {
        this.claiming = null;
        // A poll may have been requested after the end of the loop.
        if (this.rerunRequested) this.pollQueue();
      });
  }

  private async claimAll(): Promise<void> {
    while (this.rerunRequested && !this.draining) {
      this.rerunRequested = false;
      this.noFreeSlot = false;
      const names = this.agents.runnable().map((agent) => agent.name);
      // An agent with its own limit is claimed separately, because a shared batch could exceed the limit.
      const limited = names.filter((name) => this.agents.find(name)?.concurrency !== undefined);
      const unlimited = names.filter((name) => !limited.includes(name));
      for (const group of [unlimited, ...limited.map((name) => [name])]) {
        if (group.length > 0) await this.claimGroup(group);
      }
    }
  }

  /**
   * Claims waiting tasks of these agents: one task first, and twice as many with each further claim. A claim occupies slots
   * while it reads the queue, so that waiting tasks get a share of the slots that become free. Without a known backlog the
   * queue is checked first, and the slots stay free for new messages.
   */
  private async claimGroup(group: readonly string[]): Promise<void> {
    for (let limit = 1; ; limit = Math.min(2 * limit, CLAIM_BATCH)) {
      const wanted = Math.min(limit, this.freeSlots(group[0]!));
      if (wanted === 0) {
        this.noFreeSlot = true;
        return;
      }
      const hasBacklog = group.some((name) => this.backlog.has(name));
      if (!hasBacklog && !(await this.queue.hasWaiting(group))) return;
      if ((await this.claim(group, wanted)) < wanted) {
        for (const name of group) this.backlog.delete(name);
        return;
      }
    }
  }

  /** Claims up to `limit` waiting tasks in one transaction, and returns how many there were. */
  private async claim(agents: readonly string[], limit: number): Promise<number> {
    // A message that comes during the claim must not get the same slots.
    this.occupy(agents[0]!, limit);
    let claimed: readonly AppliedTask[];
    try {
      claimed = await this.claimWaiting(agents, limit);
    } finally {
      this.occupy(agents[0]!, -limit);
    }
    for (const run of claimed) {
      const { agent } = run.head.state;
      this.occupy(agent, 1);
      this.execute(agent, run);
    }
    return claimed.length;
  }

  private async claimWaiting(agents: readonly string[], limit: number): Promise<readonly AppliedTask[]> {
    const { database, writer } = this.services;
    const { applied } = await applyToLocked(database, writer, {
      name: 'claim',
      actor: SYSTEM_ACTOR,
      lock: (executor) => this.queue.lockWaiting(agents, limit, executor),
      commandFor: () => ({ type: 'ClaimRun', claim: { runId: newId(), worker: this.id } }),
    });
    return applied;
  }

  private execute(agentName: string, claimed: AppliedTask): void {
    const run = new Run(this.agents.loaded(agentName), claimed, this.services, this.queue.leaseMs);
    this.runs.set(run.runId, run);
    void run.execute().finally(() => {
      this.runs.delete(run.runId);
      this.occupy(agentName, -1);
      if (this.runs.size === 0) for (const wake of this.idleWaiters.splice(0)) wake();
      // A slot is free now. A task that waits for one gets no further wake-up.
      const mayWait = this.rerunRequested || this.noFreeSlot || this.backlog.size > 0 || this.queue.limitsTenants;
      if (!this.draining && mayWait) this.pollQueue();
    });
  }

  private freeSlots(agent: string): number {
    let occupied = 0;
    for (const count of this.occupiedSlots.values()) occupied += count;
    const agentLimit = this.agents.find(agent)?.concurrency ?? Infinity;
    const agentFree = agentLimit - (this.occupiedSlots.get(agent) ?? 0);
    return Math.max(0, Math.min(this.options.concurrency - occupied, agentFree));
  }

  private occupy(agent: string, change: number): void {
    this.occupiedSlots.set(agent, (this.occupiedSlots.get(agent) ?? 0) + change);
  }

  private async untilIdle(timeoutMs: number): Promise<void> {
    if (this.runs.size === 0) return;
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([
      new Promise<void>((resolve) => this.idleWaiters.push(resolve)),
      new Promise<void>((resolve) => {
        timer = setTimeout(resolve, timeoutMs);
      }),
    ]);
    clearTimeout(timer);
  }
}
