import type { TaskState } from '@app/domain';

const DELAY_MS = 5_000;

/** Prints a warning after 5 s if the task still waits for a worker. Returns what cancels it. */
export function warnIfUnclaimed(current: () => Promise<Pick<TaskState, 'status' | 'agent'> | undefined>): () => void {
  const timer = setTimeout(() => void warn().catch(() => undefined), DELAY_MS);
  return () => clearTimeout(timer);

  async function warn(): Promise<void> {
    const state = await current();
    if (state?.status !== 'submitted') return;
    console.error(
      `acta: no worker has claimed the task yet: start a server or \`acta worker\` that runs agent "${state.agent}" on this database, or limit the wait with --timeout`,
    );
  }
}
