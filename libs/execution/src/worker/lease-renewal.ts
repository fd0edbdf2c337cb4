import type { FailureLog } from '../execution-failure.js';
import type { RunQueue } from '../queue/run-queue.js';
import type { Run } from './run.js';

/** Maximum number of leases that one statement renews. */
const BATCH = 20;

/** Renews the leases of this process's runs, three times per lease. */
export class LeaseRenewal {
  private timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly queue: RunQueue,
    /** The active runs by id. */
    private readonly runs: ReadonlyMap<string, Run>,
    private readonly failures: FailureLog,
  ) {}

  start(): void {
    this.timer ??= setInterval(() => void this.renewAll(), this.queue.leaseMs / 3);
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }

  private async renewAll(): Promise<void> {
    const runs = [...this.runs.values()];
    const leased = runs.filter((run) => run.leaseRemains());
    // After a pause of the process, a lease may have expired before its heartbeat was sent.
    for (const run of runs) if (!run.leaseRemains()) run.markLost();
    // Small batches, because the writes of a run wait for the statement that renews its lease.
    for (let start = 0; start < leased.length; start += BATCH) await this.renew(leased.slice(start, start + BATCH));
  }

  private async renew(runs: readonly Run[]): Promise<void> {
    const sentAt = performance.now();
    try {
      const leases = await this.queue.heartbeat(runs);
      const renewed = new Map(leases.map((lease) => [lease.runId, lease]));
      for (const run of runs) {
        const lease = renewed.get(run.runId);
        if (lease === undefined) {
          // The run has ended meanwhile, or it was reclaimed.
          if (this.runs.has(run.runId)) run.markLost();
          continue;
        }
        run.renew(sentAt, this.queue.leaseMs);
        if (lease.cancelRequested) run.cancel();
      }
    } catch (error) {
      // A failed heartbeat ends no run whose lease still lasts.
      for (const run of runs) {
        if (run.leaseRemains()) continue;
        run.markLost();
        this.failures.report({ message: 'run lost', error, taskId: run.taskId, runId: run.runId });
      }
    }
  }
}
