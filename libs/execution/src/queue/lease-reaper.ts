import { activeRun, type RetryPolicy, retryAt, SYSTEM_ACTOR, type TaskCommand } from '@app/domain';
import type { Database } from '@app/storage';
import { newInternalCommand, type TaskWriter } from '@app/tasks';
import type { LockedTask, RunQueue } from './run-queue.js';

const BATCH = 50;

/**
 * Takes back what its holder has let go: expired leases are retried or fail their task, and cancels whose deadline has
 * passed are carried out. Runs on every replica; `SKIP LOCKED` shares the work out.
 */
export class LeaseReaper {
  private timer: NodeJS.Timeout | null = null;
  private sweeping: Promise<void> | null = null;

  constructor(
    private readonly database: Database,
    private readonly streams: TaskWriter,
    private readonly queue: RunQueue,
    private readonly retryPolicy: (agent: string) => RetryPolicy,
    private readonly onError: (error: unknown) => void,
    private readonly periodMs = 1_000,
    private readonly random: () => number = Math.random,
  ) {}

  /** One sweep at a time: while the database hangs, each further one would take one more connection of the pool. */
  start(): void {
    this.timer ??= setInterval(() => {
      this.sweeping ??= this.sweep()
        .catch(this.onError)
        .finally(() => {
          this.sweeping = null;
        });
    }, this.periodMs);
  }

  async stop(): Promise<void> {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    await this.sweeping;
  }

  /** One round over everything that is due. */
  async sweep(): Promise<void> {
    while ((await this.takeBack()) === BATCH);
    while ((await this.enforceCancels()) === BATCH);
  }

  private takeBack(): Promise<number> {
    return this.each('expired', ({ head }, now) => {
      const run = activeRun(head.state);
      if (run === null) return null;
      const policy = this.retryPolicy(head.state.agent);
      const { attempts } = head.state;
      const { id: runId, leaseGeneration } = run;
      return {
        type: 'LoseRun',
        fence: { runId, leaseGeneration, dispatcherGeneration: head.state.dispatcherGeneration },
        reason: 'lease-expired',
        retry: {
          maxAttempts: policy.attempts,
          // The lease was a wait of its own: another worker takes over at once, and backs off only from what it loses again.
          notBefore: attempts < 2 ? new Date(now).toISOString() : retryAt(now, attempts - 1, policy, this.random()),
        },
      };
    });
  }

  private enforceCancels(): Promise<number> {
    return this.each('overdueCancels', ({ head }) => {
      const { cancelDeadline } = head.state;
      return cancelDeadline === null ? null : { type: 'EnforceCancel', now: cancelDeadline };
    });
  }

  private async each(
    due: 'expired' | 'overdueCancels',
    /** `now`: by the database's clock, in milliseconds. */
    command: (task: LockedTask, now: number) => TaskCommand | null,
  ): Promise<number> {
    const { database } = this;
    const done = await database.transaction(async (executor) => {
      const tasks = await this.queue[due](BATCH, executor);
      const now = tasks.length === 0 ? 0 : await database.now(executor);
      const appended = [];
      for (const task of tasks) {
        const what = command(task, now);
        if (what === null) continue;
        const { tenantId, taskId, head } = task;
        const envelope = { tenantId, taskId, actor: SYSTEM_ACTOR, ...newInternalCommand(due) };
        const result = await this.streams.applyLocked(envelope, what, head, executor);
        if (result !== null) appended.push({ task, result });
      }
      return { found: tasks.length, appended };
    });
    for (const { task, result } of done.appended) this.streams.publish(task, result);
    return done.found;
  }
}
