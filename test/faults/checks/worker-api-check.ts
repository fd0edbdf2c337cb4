import { activeRun, evolve, type TaskState } from '@app/domain';
import type { Told } from './record-check.js';
import type { Answered, RemoteReport } from '../load/http-worker.js';

/** What remote workers were told, against the record; and each of their runs by itself. */
export function checkRemoteWorkers(tasks: ReadonlyMap<string, Told>, reports: readonly RemoteReport[]): string[] {
  const violations: string[] = [];
  const recorded = new Map<string, number[]>();
  for (const [taskId, told] of tasks) {
    if (told.state.agent !== 'afar') continue;
    for (const [runId, seqs] of seqsOf(told)) {
      recorded.set(runId, seqs);
      // Each call waits for the answer to the one before it, and tells something.
      if (seqs.some((seq, at) => seq !== at + 1)) {
        violations.push(`run ${runId} of ${taskId} wrote ${String(seqs)}, and every number has its turn once`);
      }
    }
  }
  for (const report of reports) {
    if ('violation' in report) violations.push(report.violation);
    else violations.push(...answerOf(report, recorded, tasks.get(report.taskId)?.state));
  }
  return violations;
}

function answerOf(
  { taskId, runId, seq, as }: Answered,
  recorded: ReadonlyMap<string, readonly number[]>,
  state: TaskState | undefined,
): string[] {
  const what = `${seq} of run ${runId} of ${taskId}`;
  const is = recorded.get(runId)?.includes(seq) ?? false;
  if (as === 'recorded') return is ? [] : [`${what} was acknowledged, and is not recorded`];
  // While no other run has come, what is recorded is acknowledged, however often it is said.
  return is && state?.run?.id === runId ? [`${what} is recorded, and was refused`] : [];
}

/** Run → the numbers under which it wrote, each as often as there is a command of that number. */
function seqsOf({ events }: Told): Map<string, number[]> {
  const runs = new Map<string, number[]>();
  let state: TaskState | null = null;
  for (const event of events) {
    const run = state === null ? null : activeRun(state);
    state = evolve(state, event, event);
    if (run === null || !('seq' in event.facts) || event.facts.seq === undefined) continue;
    runs.set(run.id, [...(runs.get(run.id) ?? []), event.facts.seq]);
  }
  return runs;
}
