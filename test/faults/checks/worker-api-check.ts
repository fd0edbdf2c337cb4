import { activeRun, evolve, type TaskState } from '@app/domain';
import { API_WORKER_AGENT } from '../fleet/fleet.js';
import type { RecordedTask } from './event-log-check.js';
import type { WriteReport, WorkerReport } from '../load/worker.program.js';

/** Compares the responses that API workers received with the event log, and checks the `seq` numbers of each of their runs. */
export function checkWorkerReports(
  tasks: ReadonlyMap<string, RecordedTask>,
  reports: readonly WorkerReport[],
): string[] {
  const violations: string[] = [];
  const recorded = new Map<string, number[]>();
  for (const [taskId, task] of tasks) {
    if (task.state.agent !== API_WORKER_AGENT) continue;
    for (const [runId, seqs] of seqsOf(task)) {
      recorded.set(runId, seqs);
      // A worker waits for each response before the next write, so no number may be missing or repeated.
      if (seqs.some((seq, index) => seq !== index + 1)) {
        violations.push(`run ${runId} of ${taskId} wrote ${String(seqs)}; expected each number once and in order`);
      }
    }
  }
  for (const report of reports) {
    if ('violation' in report) violations.push(report.violation);
    else violations.push(...writeViolations(report, recorded, tasks.get(report.taskId)?.state));
  }
  return violations;
}

function writeViolations(
  { taskId, runId, seq, outcome }: WriteReport,
  recorded: ReadonlyMap<string, readonly number[]>,
  state: TaskState | undefined,
): string[] {
  const write = `write ${seq} of run ${runId} of ${taskId}`;
  const isRecorded = recorded.get(runId)?.includes(seq) ?? false;
  if (outcome === 'recorded') return isRecorded ? [] : [`${write} was acknowledged but is not recorded`];
  // A recorded write is acknowledged on every repeat until another run starts.
  return isRecorded && state?.run?.id === runId ? [`${write} is recorded but was rejected`] : [];
}

/** Returns run id → the `seq` numbers of its recorded writes, in order. */
function seqsOf({ events }: RecordedTask): Map<string, number[]> {
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
