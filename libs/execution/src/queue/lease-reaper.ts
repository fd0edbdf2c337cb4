import { SYSTEM_ACTOR } from '@app/domain';
import { Database } from '@app/storage';
import { TaskWriter } from '@app/tasks';
import { Injectable } from '@nestjs/common';
import { Agents } from '../agents/agents.js';
import { FailureLog } from '../execution-failure.js';
import { ExecutionOptions } from '../execution-options.js';
import { activeFence } from './active-fence.js';
import { applyToLocked } from './apply-to-locked.js';
import { retryAfterAttempt } from './retry-policy.js';
import { RunQueue } from './run-queue.js';

const BATCH = 50;

/**
 * Retries or fails the tasks whose lease has expired, and cancels the tasks whose cancel deadline has passed. It runs in
 * every process; `skip locked` divides the tasks between them.
 */
@Injectable()
export class LeaseReaper {
  private timer: NodeJS.Timeout | null = null;
  private sweeping: Promise<void> | null = null;

  constructor(
    private readonly database: Database,
    private readonly writer: TaskWriter,
    private readonly queue: RunQueue,
    private readonly agents: Agents,
    private readonly failures: FailureLog,
    private readonly options: ExecutionOptions,
  ) {}

  /** Starts periodic sweeps. They never overlap, because each one would take a further connection while the database hangs. */
  start(): void {
    this.timer ??= setInterval(() => {
      this.sweeping ??= this.sweep()
        .catch((error: unknown) => this.failures.report({ message: 'reaper sweep failed', error }))
        .finally(() => {
          this.sweeping = null;
        });
    }, this.options.sweepMs);
  }

  async stop(): Promise<void> {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    await this.sweeping;
  }

  /** Handles everything that is due now. */
  async sweep(): Promise<void> {
    while ((await this.reclaimExpired()) === BATCH);
    while ((await this.enforceCancels()) === BATCH);
  }

  private async reclaimExpired(): Promise<number> {
    let now = 0;
    const { locked } = await applyToLocked(this.database, this.writer, {
      name: 'reclaim-expired',
      actor: SYSTEM_ACTOR,
      lock: async (executor) => {
        const tasks = await this.queue.lockExpired(BATCH, executor);
        if (tasks.length > 0) now = await this.database.now(executor);
        return tasks;
      },
      commandFor: ({ head: { state } }) => {
        const fence = activeFence(state);
        return fence && { type: 'LoseRun', fence, reason: 'lease-expired', retry: this.retryOf(state, now) };
      },
    });
    return locked;
  }

  /** The first retry starts immediately, because the task has waited for the lease. Later ones wait for the backoff. */
  private retryOf({ agent, attempts }: { readonly agent: string; readonly attempts: number }, now: number) {
    const policy = this.agents.retryPolicyOf(agent);
    if (attempts < 2) return { maxAttempts: policy.attempts, notBefore: new Date(now).toISOString() };
    return retryAfterAttempt(policy, attempts - 1, now);
  }

  private async enforceCancels(): Promise<number> {
    const { locked } = await applyToLocked(this.database, this.writer, {
      name: 'enforce-cancel',
      actor: SYSTEM_ACTOR,
      lock: (executor) => this.queue.lockOverdueCancels(BATCH, executor),
      commandFor: ({ head: { state } }) =>
        state.cancelDeadline === null ? null : { type: 'EnforceCancel', now: state.cancelDeadline },
    });
    return locked;
  }
}
