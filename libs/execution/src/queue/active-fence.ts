import { activeRun, type Fence, type TaskState } from '@app/domain';

/** Returns the fencing token of the run that holds the task now, or null if no run does. */
export function activeFence(state: TaskState): Fence | null {
  const run = activeRun(state);
  if (run === null) return null;
  const { id: runId, leaseGeneration, dispatcherGeneration } = run;
  return { runId, leaseGeneration, dispatcherGeneration };
}
