import { activeRun, isInterrupted, isTerminal, type RecordedEvent, type TaskState } from '@app/domain';
import type { ReadModelRows } from '@app/event-log';

/**
 * The rows of the read models that a stretch of events changes. Pure, facts and pointers only: what was said stays in
 * the log. A rebuild is this projection over the whole stream.
 */
export function projectRows(events: readonly RecordedEvent[], after: TaskState): ReadModelRows {
  const messages = events.flatMap((event) => {
    if (event.type === 'MessageAccepted') return [{ version: event.version, role: 'user', bytes: event.facts.bytes }];
    if (!('messageId' in event.facts) || event.facts.messageId === undefined) return [];
    return [{ version: event.version, role: 'agent', bytes: event.facts.bytes ?? 0 }];
  });
  const lostRuns = events.flatMap((event) => (event.type === 'RunLost' ? [event.facts.runId] : []));
  const chunks = events.flatMap((event) => {
    if (event.type !== 'ArtifactPublished' || lostRuns.includes(event.facts.runId)) return [];
    const { runId, artifactId, append, parts, bytes } = event.facts;
    return [{ version: event.version, run_id: runId, artifact_id: artifactId, append, parts, bytes }];
  });
  return {
    ...(messages.length > 0 ? { messages } : {}),
    ...(lostRuns.length > 0 ? { lostRuns } : {}),
    ...(chunks.length > 0 ? { chunks } : {}),
    queue: queueRow(after),
  };
}

function queueRow(state: TaskState): ReadModelRows['queue'] {
  if (isTerminal(state.status) || isInterrupted(state.status)) return null;
  const run = activeRun(state);
  return {
    agent: state.agent,
    ring: state.ring,
    dispatcherGeneration: state.dispatcherGeneration,
    leaseGeneration: state.leaseGeneration,
    attempts: state.attempts,
    // Of the turn, and not of its retries: what was lost keeps its place.
    queuedAt: state.queuedAt ?? state.createdAt,
    notBefore: state.notBefore,
    runId: run?.id ?? null,
    worker: run?.worker ?? null,
    cancelDeadline: state.cancelDeadline,
  };
}
