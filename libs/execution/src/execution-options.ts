export abstract class ExecutionOptions {
  /** Maximum number of concurrent runs in this process; 0: none. */
  abstract readonly concurrency: number;
  /** Maximum number of active runs of one tenant, across all workers; 0: no limit. */
  abstract readonly runningPerTenant: number;
  /** How long active runs may continue after a stop, before they are released, in milliseconds. */
  abstract readonly drainMs: number;
  /** How often the queue is polled for tasks that no wake-up announces: retries whose time has come. */
  abstract readonly pollMs: number;
  /** The time between two sweeps of the reaper. */
  abstract readonly sweepMs: number;
  /** A waiting claim costs an HTTP connection, but no query until a task is queued. */
  abstract readonly waitingClaims: {
    readonly perWorker: number;
    readonly total: number;
    /** How long a queue of claims waits for a wake-up before it looks for tasks without one. */
    readonly pollMs: number;
  };
}

export const EXECUTION_DEFAULTS = {
  pollMs: 500,
  sweepMs: 1_000,
  waitingClaims: { perWorker: 1_000, total: 5_000, pollMs: 1_000 },
};
