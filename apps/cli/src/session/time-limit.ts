import type { TaskState } from '@app/domain';

/** Timers of Node cannot wait longer. */
const MAX_MS = 2_147_483_647;

/** Returns a signal that aborts after a time in milliseconds; null without a time. */
export const timeLimit = (ms: number | undefined): AbortSignal | null =>
  ms === undefined ? null : AbortSignal.timeout(Math.min(ms, MAX_MS));

/** Returns the error for a task that has not ended within the time. */
export function withoutOutcome(taskId: string, { status, agent }: Pick<TaskState, 'status' | 'agent'>): string {
  const reason = status === 'submitted' ? `no worker of agent "${agent}" has claimed it` : `its status is ${status}`;
  return `the time is over, but task ${taskId} has not ended: ${reason}; \`acta tasks watch ${taskId}\` follows it`;
}
