import type { StreamPosition, TaskEvent, UpstreamTask } from './task.events.js';

export type TaskStatus =
  | 'submitted'
  | 'working'
  | 'input-required'
  | 'auth-required'
  | 'completed'
  | 'failed'
  | 'rejected'
  | 'canceled'
  /** Ended with a bare reply: A2A never shows it as a task. */
  | 'replied';

export const TERMINAL_STATUSES: readonly TaskStatus[] = ['completed', 'failed', 'rejected', 'canceled', 'replied'];

export const isTerminal = (status: TaskStatus): boolean => TERMINAL_STATUSES.includes(status);

export const isInterrupted = (status: TaskStatus): boolean => status === 'input-required' || status === 'auth-required';

/** One attempt of an agent at the current turn. */
export interface Run {
  readonly id: string;
  readonly attempt: number;
  readonly leaseGeneration: number;
  readonly dispatcherGeneration: number;
  readonly worker: string;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly outcome: 'lost' | 'completed' | 'failed' | 'rejected' | 'canceled' | 'interrupted' | 'replied' | null;
  /** Sequence number of the last write that the record has; a repeated one adds nothing. */
  readonly seq: number;
  /** Artifacts that this run has started. */
  readonly artifacts: readonly string[];
}

/** What deciding needs to know of a task. Facts only: it is stored beside the task and holds nothing that anyone wrote. */
export interface TaskState {
  readonly contextId: string;
  readonly ring: string;
  readonly owner: string;
  readonly agent: string;
  readonly status: TaskStatus;
  /** When the status last changed or was reported; chunks and messages do not move it. */
  readonly statusAt: string;
  /** Version of the event whose message is the status message, if any. */
  readonly statusMessage: number | null;
  readonly createdAt: string;
  /** When the current turn came into the queue; absent in the first, which came with the task. */
  readonly queuedAt?: string;
  /** When the last event was recorded. */
  readonly recordedAt: string;
  readonly version: number;
  readonly leaseGeneration: number;
  readonly dispatcherGeneration: number;
  /** Attempts of the current turn that count against the agent's limit. */
  readonly attempts: number;
  readonly notBefore: string | null;
  readonly run: Run | null;
  /** A client was acknowledged, or could see something of the work: a bare reply is no longer possible. */
  readonly acknowledged: boolean;
  readonly clientMessages: { readonly count: number; readonly bytes: number; readonly lastVersion: number };
  readonly cancelDeadline: string | null;
  /** Where another agent does the work: runs and turns that follow go on there. Absent until that agent has named it. */
  readonly upstream?: UpstreamTask;
  /** It failed because what its agent said broke the contract. */
  readonly invalidResponse?: true;
  /** Dispatcher generation of the last turn that a resume began: a repeat of that resume is known for one, even at the end. */
  readonly resumedGeneration?: number;
  /** Ids of its webhooks; absent when there are none. */
  readonly pushConfigs?: readonly string[];
}

/** The run that holds the task now, if any. */
export const activeRun = (state: TaskState): Run | null =>
  state.run !== null && state.run.endedAt === null && !isTerminal(state.status) ? state.run : null;

/** Work that waits for a worker. */
export const isQueued = (state: TaskState): boolean =>
  !isTerminal(state.status) && !isInterrupted(state.status) && activeRun(state) === null;

/**
 * What the record says after one more event. The only interpreter of events: commands, projections, replay and time
 * travel all go through it. It never fails on what `decide` produced.
 */
export function evolve(before: TaskState | null, event: TaskEvent, place: StreamPosition): TaskState {
  const { version, recordedAt } = place;
  if (event.type === 'TaskSubmitted') {
    const { contextId, ring, owner, agent, acknowledged } = event.facts;
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
  if (before === null) throw new Error(`a stream cannot start with ${event.type}`);
  const state: TaskState = { ...before, version, recordedAt };
  const status = (next: TaskStatus, message?: string): TaskState => ({
    ...state,
    status: next,
    statusAt: recordedAt,
    statusMessage: message === undefined ? null : version,
  });
  /** With the number of the write that ended it, so that a repeat of that write is known for one. */
  const endRun = (outcome: Run['outcome'], seq = state.run?.seq ?? 0): Run | null =>
    state.run === null || state.run.endedAt !== null ? state.run : { ...state.run, endedAt: recordedAt, outcome, seq };
  const wrote = (seq: number, change: Partial<Run> = {}): Run | null =>
    state.run === null ? null : { ...state.run, seq, ...change };
  /** The task is handed out for execution once more: who held it before is fenced. */
  const dispatched = {
    dispatcherGeneration: state.dispatcherGeneration + 1,
    notBefore: null,
    attempts: 0,
    queuedAt: recordedAt,
  };

  switch (event.type) {
    case 'MessageAccepted': {
      const { count, bytes } = state.clientMessages;
      const clientMessages = { count: count + 1, bytes: bytes + event.facts.bytes, lastVersion: version };
      // Whoever sends a second message knows the task as one.
      const next = { ...state, clientMessages, acknowledged: state.acknowledged || count > 0 };
      if (!isInterrupted(state.status)) return next;
      return { ...next, ...dispatched, status: 'submitted', statusAt: recordedAt, statusMessage: null };
    }
    case 'RunStarted': {
      const { runId, attempt, leaseGeneration, dispatcherGeneration, worker } = event.facts;
      return {
        ...status('working'),
        leaseGeneration,
        attempts: attempt,
        notBefore: null,
        run: {
          id: runId,
          attempt,
          leaseGeneration,
          dispatcherGeneration,
          worker,
          startedAt: recordedAt,
          endedAt: null,
          outcome: null,
          seq: 0,
          artifacts: [],
        },
      };
    }
    case 'StatusReported': {
      const { messageId, seq, upstream } = event.facts;
      const reported = { ...status('working', messageId), acknowledged: true, run: wrote(seq) };
      return upstream === undefined ? reported : { ...reported, upstream };
    }
    case 'ArtifactPublished': {
      const { artifactId, append, seq } = event.facts;
      const started = state.run?.artifacts ?? [];
      const artifacts = append || started.includes(artifactId) ? started : [...started, artifactId];
      return { ...state, acknowledged: true, run: wrote(seq, { artifacts }) };
    }
    case 'InputRequested':
    case 'AuthorizationRequested': {
      const run = endRun('interrupted', event.facts.seq);
      const asked = { ...status(event.type === 'InputRequested' ? 'input-required' : 'auth-required', 'asked'), run };
      if (!event.facts.nextTurn) return asked;
      return { ...asked, ...dispatched, acknowledged: true, status: 'submitted', statusMessage: null };
    }
    case 'TaskResumed':
      return {
        ...state,
        ...dispatched,
        acknowledged: true,
        resumedGeneration: dispatched.dispatcherGeneration,
        status: 'submitted',
        statusAt: recordedAt,
        statusMessage: null,
      };
    case 'ReplySent':
      return { ...status('replied', event.facts.messageId), run: endRun('replied', event.facts.seq) };
    case 'TaskCompleted':
      return {
        ...status('completed', event.facts.messageId),
        run: endRun('completed', event.facts.seq),
        cancelDeadline: null,
      };
    case 'TaskFailed':
      return {
        ...status('failed', event.facts.messageId),
        run: endRun('failed', event.facts.seq),
        cancelDeadline: null,
        ...(event.facts.reason === 'invalid-agent-response' ? { invalidResponse: true } : {}),
      };
    case 'TaskRejected':
      return {
        ...status('rejected', event.facts.messageId),
        run: endRun('rejected', event.facts.seq),
        cancelDeadline: null,
      };
    case 'CancelRequested':
      // Whoever cancels knows the task and waits for it: it must not end as a reply, which is no task.
      return { ...state, acknowledged: true, cancelDeadline: event.facts.deadline };
    case 'TaskCanceled':
      return {
        ...status('canceled', event.facts.messageId),
        dispatcherGeneration: state.dispatcherGeneration + 1,
        run: endRun('canceled', event.facts.seq),
        cancelDeadline: null,
      };
    case 'PushConfigSet': {
      const others = (state.pushConfigs ?? []).filter((id) => id !== event.facts.configId);
      // Its webhook hears of the work from now on, which a bare reply would take back.
      return { ...state, acknowledged: true, pushConfigs: [...others, event.facts.configId] };
    }
    case 'PushConfigDeleted': {
      const { pushConfigs = [], ...rest } = state;
      const left = pushConfigs.filter((id) => id !== event.facts.configId);
      return left.length === 0 ? rest : { ...rest, pushConfigs: left };
    }
    case 'RunLost':
      return { ...state, run: endRun('lost', event.facts.seq) };
    case 'RunRetried': {
      const { attempt, dispatcherGeneration, notBefore, counted } = event.facts;
      return { ...state, dispatcherGeneration, notBefore, attempts: counted ? attempt : attempt - 1 };
    }
  }
}
