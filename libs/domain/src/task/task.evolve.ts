import { NIL_UUID } from '../ids.js';
import type { TraceContext } from '../trace-context.js';
import type { EventPosition, TaskEvent } from './task.events.js';
import { isInterrupted, isQueued, type Run, type TaskState, type TaskStatus } from './task.state.js';
import { isSameWebhook } from './webhook-id.js';

type EventOf<T extends TaskEvent['type']> = Extract<TaskEvent, { type: T }>;

/**
 * Returns the state after one more event. It is the only interpreter of events: commands, projections, webhooks and reads
 * of an earlier version use it. It accepts every event that `decide` returns.
 */
export function evolve(before: TaskState | null, event: TaskEvent, position: EventPosition): TaskState {
  if (event.type === 'TaskSubmitted') return submitted(event, position);
  if (before === null) throw new Error(`a stream must start with TaskSubmitted, not with ${event.type}`);
  const { version, recordedAt, eventId, trace } = position;
  const state: TaskState = { ...before, version, recordedAt };
  const withStatus = (status: TaskStatus, hasMessage: boolean): TaskState => ({
    ...state,
    status,
    statusAt: recordedAt,
    statusMessage: hasMessage ? version : null,
  });

  switch (event.type) {
    case 'MessageAccepted': {
      const { count, bytes } = state.clientMessages;
      const clientMessages = { count: count + 1, bytes: bytes + event.facts.bytes, lastVersion: version };
      // The sender of a second message already knows the task.
      const next = { ...withTrace(state, trace), clientMessages, acknowledged: state.acknowledged || count > 0 };
      if (isInterrupted(state.status)) return { ...withNextTurn(next), queuedBy: eventId };
      // A message to an active run starts the next turn if the run does not read it.
      return count > 0 && isQueued(state) ? next : { ...next, queuedBy: eventId };
    }
    case 'RunStarted': {
      const { attempt, leaseGeneration } = event.facts;
      const run = startedRun(event, position, state.trace);
      return { ...withStatus('working', false), leaseGeneration, attempts: attempt, notBefore: null, run };
    }
    case 'StatusReported': {
      const { messageId, seq, upstream } = event.facts;
      const run = withWrite(state.run, seq);
      const reported = { ...withStatus('working', messageId !== undefined), acknowledged: true, run };
      return upstream === undefined ? reported : { ...reported, upstream };
    }
    case 'ArtifactPublished': {
      const { artifactId, append, seq } = event.facts;
      const started = state.run?.artifacts ?? [];
      const artifacts = append || started.includes(artifactId) ? started : [...started, artifactId];
      return { ...state, acknowledged: true, run: withWrite(state.run, seq, { artifacts }) };
    }
    case 'InputRequested':
    case 'AuthorizationRequested': {
      const status = event.type === 'InputRequested' ? 'input-required' : 'auth-required';
      const interrupted = { ...withStatus(status, true), run: endedRun(state, 'interrupted', event.facts.seq) };
      return event.facts.nextTurn ? { ...withNextTurn(interrupted), acknowledged: true } : interrupted;
    }
    case 'TaskResumed': {
      const resumed = { ...withNextTurn(withTrace(state, trace)), queuedBy: eventId };
      return { ...resumed, acknowledged: true, resumedGeneration: resumed.dispatcherGeneration };
    }
    case 'ReplySent':
      return {
        ...withStatus('replied', event.facts.messageId !== undefined),
        run: endedRun(state, 'replied', event.facts.seq),
      };
    case 'TaskCompleted':
    case 'TaskFailed':
    case 'TaskRejected': {
      const status = END_STATUS[event.type];
      return {
        ...withStatus(status, event.facts.messageId !== undefined),
        run: endedRun(state, status, event.facts.seq),
        cancelDeadline: null,
        ...(event.type === 'TaskFailed' && event.facts.reason === 'invalid-agent-response'
          ? { invalidResponse: true }
          : {}),
      };
    }
    case 'CancelRequested':
      // The caller that cancels knows the task, so the task must not end with a direct message response.
      return {
        ...state,
        acknowledged: true,
        cancelDeadline: event.facts.deadline,
        cancelRequestedBy: eventId,
      };
    case 'TaskCanceled':
      return {
        ...withStatus('canceled', event.facts.messageId !== undefined),
        dispatcherGeneration: state.dispatcherGeneration + 1,
        run: endedRun(state, 'canceled', event.facts.seq),
        cancelDeadline: null,
      };
    case 'PushConfigSet': {
      const { subject, configId } = event.facts;
      const others = (state.pushConfigs ?? []).filter((webhook) => !isSameWebhook(webhook, event.facts));
      // The webhook is notified of the work from now on, so the task cannot end as a direct message response.
      return { ...state, acknowledged: true, pushConfigs: [...others, { subject, configId }] };
    }
    case 'PushConfigDeleted': {
      const { pushConfigs = [], ...rest } = state;
      const remaining = pushConfigs.filter((webhook) => !isSameWebhook(webhook, event.facts));
      return remaining.length === 0 ? rest : { ...rest, pushConfigs: remaining };
    }
    case 'RunLost':
      return {
        ...state,
        run: endedRun(state, 'lost', event.facts.seq),
        ...(event.facts.ownProcess ? { ownProcess: true } : {}),
      };
    case 'RunRetried': {
      const { attempt, dispatcherGeneration, notBefore, counted } = event.facts;
      const attempts = counted ? attempt : attempt - 1;
      return { ...state, dispatcherGeneration, notBefore, attempts, queuedBy: eventId };
    }
    default:
      // A newer version of Acta can have recorded types that this one does not know.
      event satisfies never;
      return state;
  }
}

/**
 * Applies several new events, to decide what follows them. Their ids do not affect a decision, so the state has none. The
 * state that is stored is that of `positionEvents`.
 */
export function evolveAll(state: TaskState | null, events: readonly TaskEvent[], recordedAt: string): TaskState | null {
  return events.reduce<TaskState | null>(
    (current, event) => evolve(current, event, nextPosition(current, recordedAt)),
    state,
  );
}

/** Returns the position of the event that follows a state, for a decision. */
export const nextPosition = (state: TaskState | null, recordedAt: string): EventPosition => ({
  version: (state?.version ?? 0) + 1,
  recordedAt,
  eventId: NIL_UUID,
});

const END_STATUS = { TaskCompleted: 'completed', TaskFailed: 'failed', TaskRejected: 'rejected' } as const;

function submitted({ facts }: EventOf<'TaskSubmitted'>, { version, recordedAt, eventId }: EventPosition): TaskState {
  const { contextId, ring, owner, agent, acknowledged } = facts;
  return {
    contextId,
    ring,
    owner,
    agent,
    acknowledged,
    status: 'submitted',
    statusAt: recordedAt,
    statusMessage: null,
    createdAt: recordedAt,
    queuedBy: eventId,
    recordedAt,
    version,
    leaseGeneration: 0,
    dispatcherGeneration: 1,
    attempts: 0,
    notBefore: null,
    run: null,
    clientMessages: { count: 0, bytes: 0, lastVersion: 0 },
    cancelDeadline: null,
  };
}

/** Queues the task for its next turn. The new dispatcher generation fences the run that held it before. */
const withNextTurn = (state: TaskState): TaskState => ({
  ...withoutLoss(state),
  status: 'submitted',
  statusAt: state.recordedAt,
  statusMessage: null,
  dispatcherGeneration: state.dispatcherGeneration + 1,
  notBefore: null,
  attempts: 0,
  queuedAt: state.recordedAt,
});

/** Forgets that a run of the last turn may have ended its agent process. */
function withoutLoss(state: TaskState): TaskState {
  if (state.ownProcess === undefined) return state;
  const { ownProcess: _, ...rest } = state;
  return rest;
}

/** Replaces the trace context of the work that is queued next. A request without one has none. */
function withTrace(state: TaskState, trace: TraceContext | undefined): TaskState {
  if (trace !== undefined) return { ...state, trace };
  if (state.trace === undefined) return state;
  const { trace: _, ...rest } = state;
  return rest;
}

function startedRun(
  { facts }: EventOf<'RunStarted'>,
  { eventId, recordedAt }: EventPosition,
  trace: TraceContext | undefined,
): Run {
  const { runId, attempt, leaseGeneration, dispatcherGeneration, worker } = facts;
  const run = {
    id: runId,
    eventId,
    attempt,
    leaseGeneration,
    dispatcherGeneration,
    worker,
    startedAt: recordedAt,
    endedAt: null,
    outcome: null,
    seq: 0,
    artifacts: [],
  };
  return trace === undefined ? run : { ...run, trace };
}

const withWrite = (run: Run | null, seq: number, changes: Partial<Run> = {}): Run | null =>
  run === null ? null : { ...run, seq, ...changes };

/** Ends the run, if it has not ended. `seq` is that of the write that ended it, so that a repeat of that write is recognized. */
const endedRun = ({ run, recordedAt }: TaskState, outcome: Run['outcome'], seq = run?.seq ?? 0): Run | null =>
  run === null || run.endedAt !== null ? run : { ...run, endedAt: recordedAt, outcome, seq };
