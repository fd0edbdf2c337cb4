import { hostname } from 'node:os';
import { randomUUID } from 'node:crypto';
import { newId, SYSTEM_ACTOR } from '@app/domain';
import { type Appended, newInternalCommand, type RunSlot, RunSlots } from '@app/tasks';
import type { Subscription } from 'rxjs';
import type { Agents } from '../agents/agents.js';
import { type HeldRun, Run, type RunServices } from './run.js';
import type { LockedTask, RunQueue } from '../queue/run-queue.js';

export interface WorkerOptions {
  /** Runs at a time in this process; 0: none. */
  readonly concurrency: number;
  readonly leaseMs: number;
  /** How long live runs may go on after the order to stop, before they are handed back; absent: not at all. */
  readonly drainMs?: number;
  /** How often to look for work that no wake-up announced (retries whose time has come). */
  readonly pollMs?: number;
}

const BATCH = 32;
/** Leases that one statement renews. */
const BEATS = 20;

/** Claims work, runs agents, and keeps the leases of what it runs alive. */
export class Worker extends RunSlots {
  readonly id = `${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`;
  private readonly runs = new Map<string, Run>();
  private readonly reserved = new Map<string, number>();
  private readonly idle: (() => void)[] = [];
  private subscription: Subscription | null = null;
  private pollTimer: NodeJS.Timeout | null = null;
  private beatTimer: NodeJS.Timeout | null = null;
  private claiming: Promise<void> | null = null;
  private again = false;
  /** The last look for work found no free slot. */
  private starved = false;
  /** Agents that may have work in the queue, for want of a free slot. */
  private readonly backlog = new Set<string>();
  private draining = true;

  constructor(
    private readonly services: RunServices,
    private readonly queue: RunQueue,
    private readonly agents: Agents,
    private readonly options: WorkerOptions,
  ) {
    super();
  }

  get running(): number {
    return this.runs.size;
  }

  start(): void {
    if (this.options.concurrency === 0) return;
    this.draining = false;
    const { leaseMs, pollMs = 500 } = this.options;
    this.subscription = this.services.streams.wakeups.queuedAgents.subscribe(() => this.lookForWork());
    this.pollTimer = setInterval(() => this.lookForWork(), pollMs);
    this.beatTimer = setInterval(() => void this.heartbeat(), leaseMs / 3);
    this.lookForWork();
  }

  /** Takes no more work, gives live runs `graceMs` to finish, and hands back what is left. */
  async stop(graceMs = this.options.drainMs ?? 0): Promise<void> {
    this.draining = true;
    this.subscription?.unsubscribe();
    if (this.pollTimer !== null) clearInterval(this.pollTimer);
    await this.claiming;
    await this.untilIdle(graceMs);
    for (const run of this.runs.values()) run.release();
    await this.untilIdle(5_000);
    if (this.beatTimer !== null) clearInterval(this.beatTimer);
  }

  override reserve(agent: string): RunSlot | null {
    if (this.draining || this.queue.limitsTenants) return null;
    if (!this.agents.runnable().some(({ name }) => name === agent)) return null;
    if (this.free(agent) < 1) {
      this.backlog.add(agent);
      return null;
    }
    this.occupy(agent, 1);
    let open = true;
    const release = () => {
      if (open) this.occupy(agent, -1);
      open = false;
    };
    return {
      claim: { runId: newId(), worker: this.id },
      start: (run) => {
        open = false;
        this.execute(agent, run);
      },
      release,
    };
  }

  private lookForWork(): void {
    this.again = true;
    if (this.draining) return;
    this.claiming ??= this.claimAll()
      .catch((error: unknown) => this.services.onError(error))
      .finally(() => {
        this.claiming = null;
        // Asked for between the end of the loop and now.
        if (this.again) this.lookForWork();
      });
  }

  private async claimAll(): Promise<void> {
    while (this.again && !this.draining) {
      this.again = false;
      this.starved = false;
      const names = this.agents.runnable().map((agent) => agent.name);
      // Agents with a limit of their own are claimed one by one: a shared batch could take too many of them.
      const limited = names.filter((name) => this.agents.find(name)?.concurrency !== undefined);
      const open = names.filter((name) => !limited.includes(name));
      for (const group of [open, ...limited.map((name) => [name])]) {
        if (group.length === 0) continue;
        await this.claimGroup(group);
      }
    }
  }

  /**
   * Claims what waits for these agents, one task first and twice as many each time. A claim holds slots while it looks, so
   * that what waits gets its share of those that fall free; where nothing is known to wait, it asks first, and leaves the
   * slots to the messages that come in.
   */
  private async claimGroup(group: readonly string[]): Promise<void> {
    for (let most = 1; ; most = Math.min(2 * most, BATCH)) {
      const wanted = Math.min(most, this.free(group[0]!));
      if (wanted === 0) {
        this.starved = true;
        return;
      }
      const known = group.some((name) => this.backlog.has(name));
      if (!known && !(await this.queue.hasWaiting(group))) return;
      if ((await this.claim(group, wanted)) < wanted) {
        for (const name of group) this.backlog.delete(name);
        return;
      }
    }
  }

  /** Claims up to `limit` waiting tasks in one transaction. */
  private async claim(agents: readonly string[], limit: number): Promise<number> {
    const { streams } = this.services;
    // Taken before they are needed: a message that comes in meanwhile must not take the same slots.
    this.occupy(agents[0]!, limit);
    let claimed: Awaited<ReturnType<Worker['claimWaiting']>>;
    try {
      claimed = await this.claimWaiting(agents, limit);
    } finally {
      this.occupy(agents[0]!, -limit);
    }
    for (const { task, result } of claimed) {
      streams.publish(task, result);
      this.occupy(result.head.state.agent, 1);
      this.execute(result.head.state.agent, { ...task, head: result.head, events: result.events });
    }
    return claimed.length;
  }

  private claimWaiting(agents: readonly string[], limit: number) {
    const { database, streams } = this.services;
    return database.transaction(async (executor) => {
      const tasks = await this.queue.waiting(agents, limit, executor);
      const results: { task: LockedTask; result: Appended }[] = [];
      for (const task of tasks) {
        const { tenantId, taskId, head } = task;
        const claim = { runId: newId(), worker: this.id };
        const result = await streams.applyLocked(
          { tenantId, taskId, actor: SYSTEM_ACTOR, ...newInternalCommand('claim') },
          { type: 'ClaimRun', claim },
          head,
          executor,
        );
        if (result !== null) results.push({ task, result });
      }
      return results;
    });
  }

  private execute(agent: string, held: HeldRun): void {
    const { definition, profile } = this.agents.loaded(agent);
    const run = new Run(definition, profile.retry, held, this.services, this.options.leaseMs);
    this.runs.set(run.runId, run);
    void run.execute().finally(() => {
      this.runs.delete(run.runId);
      this.occupy(agent, -1);
      if (this.runs.size === 0) for (const wake of this.idle.splice(0)) wake();
      // A slot is free: whatever waits for one needs no further wake-up.
      const more = this.again || this.starved || this.backlog.size > 0 || this.queue.limitsTenants;
      if (!this.draining && more) this.lookForWork();
    });
  }

  /** Free slots for an agent in this process. */
  private free(agent: string): number {
    let used = 0;
    for (const count of this.reserved.values()) used += count;
    const own = this.agents.find(agent)?.concurrency ?? Infinity;
    return Math.max(0, Math.min(this.options.concurrency - used, own - (this.reserved.get(agent) ?? 0)));
  }

  private occupy(agent: string, change: number): void {
    this.reserved.set(agent, (this.reserved.get(agent) ?? 0) + change);
  }

  private async heartbeat(): Promise<void> {
    const runs = [...this.runs.values()].filter((run) => run.leaseRemains());
    // A process that was stopped in between notices here, before it asks anyone.
    for (const run of this.runs.values()) if (!run.leaseRemains()) run.lose();
    // A few at a time: whatever a run writes waits for the statement that renews its lease.
    for (let at = 0; at < runs.length; at += BEATS) await this.renew(runs.slice(at, at + BEATS));
  }

  private async renew(runs: readonly Run[]): Promise<void> {
    const { leaseMs } = this.options;
    const sentAt = performance.now();
    try {
      const renewed = new Map((await this.queue.heartbeat(runs, leaseMs)).map((beat) => [beat.runId, beat]));
      for (const run of runs) {
        const beat = renewed.get(run.runId);
        if (beat === undefined) {
          // Over in the meantime, or taken away.
          if (this.runs.has(run.runId)) run.lose();
          continue;
        }
        run.renewed(sentAt, leaseMs);
        if (beat.cancel) run.cancel();
      }
    } catch (error) {
      // One lost beat is no lost lease: a run stops only when its lease has run out.
      for (const run of runs) {
        if (run.leaseRemains()) continue;
        run.lose();
        this.services.onError(error, run);
      }
    }
  }

  private async untilIdle(timeoutMs: number): Promise<void> {
    if (this.runs.size === 0) return;
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([
      new Promise<void>((resolve) => this.idle.push(resolve)),
      new Promise<void>((resolve) => {
        timer = setTimeout(resolve, timeoutMs);
      }),
    ]);
    clearTimeout(timer);
  }
}
