import { activeRun, isInterrupted, isTerminal, type RecordedEvent, type TaskState } from '@app/domain';
import type { ReadModelRows } from '@app/event-log';

type MessageRow = NonNullable<ReadModelRows['messages']>[number];
type ChunkRow = NonNullable<ReadModelRows['chunks']>[number];
type ArtifactPublished = Extract<RecordedEvent, { type: 'ArtifactPublished' }>;

/**
 * Returns the read model rows that events change. Pure. The rows hold facts and pointers to versions: content stays in the
 * event log. A rebuild applies this projection to the whole stream.
 */
export function projectRows(events: readonly RecordedEvent[], after: TaskState): ReadModelRows {
  const messages = events.flatMap((event) => messageRow(event) ?? []);
  const lostRuns = events.flatMap((event) => (event.type === 'RunLost' ? [event.facts.runId] : []));
  const chunks = events.flatMap((event) =>
    event.type === 'ArtifactPublished' && !lostRuns.includes(event.facts.runId) ? [chunkRow(event)] : [],
  );
  return {
    ...(messages.length > 0 ? { messages } : {}),
    ...(lostRuns.length > 0 ? { lostRuns } : {}),
    ...(chunks.length > 0 ? { chunks } : {}),
    queue: queueRow(after),
  };
}

/** Returns the row of the message that an event adds to the history. Null: it adds none. */
function messageRow(event: RecordedEvent): MessageRow | null {
  switch (event.type) {
    case 'MessageAccepted':
      return { version: event.version, role: 'user', bytes: event.facts.bytes };
    case 'StatusReported':
    case 'InputRequested':
    case 'AuthorizationRequested':
    case 'ReplySent':
    case 'TaskCompleted':
    case 'TaskFailed':
    case 'TaskRejected':
    case 'TaskCanceled': {
      const { messageId, bytes = 0 } = event.facts;
      return messageId === undefined ? null : { version: event.version, role: 'agent', bytes };
    }
    case 'TaskSubmitted':
    case 'RunStarted':
    case 'ArtifactPublished':
    case 'TaskResumed':
    case 'CancelRequested':
    case 'RunLost':
    case 'RunRetried':
    case 'PushConfigSet':
    case 'PushConfigDeleted':
      return null;
  }
}

function chunkRow({ version, facts }: ArtifactPublished): ChunkRow {
  const { runId, artifactId, append, parts, bytes } = facts;
  return { version, run_id: runId, artifact_id: artifactId, append, parts, bytes };
}

/** Returns the queue row of a task. Null: nothing is left to execute. */
function queueRow(state: TaskState): ReadModelRows['queue'] {
  if (isTerminal(state.status) || isInterrupted(state.status)) return null;
  const run = activeRun(state);
  return {
    agent: state.agent,
    ring: state.ring,
    dispatcherGeneration: state.dispatcherGeneration,
    leaseGeneration: state.leaseGeneration,
    attempts: state.attempts,
    // The time of the turn, not of the retry, so that a lost run keeps its position in the queue.
    queuedAt: state.queuedAt ?? state.createdAt,
    notBefore: state.notBefore,
    runId: run?.id ?? null,
    worker: run?.worker ?? null,
    cancelDeadline: state.cancelDeadline,
  };
}
