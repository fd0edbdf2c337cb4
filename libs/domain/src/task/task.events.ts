import type { EventContent } from '../content.js';
import type { RequestFacts } from '../message-request.js';
import type { TraceContext } from '../trace-context.js';
import type { WebhookId } from './webhook-id.js';

/** The facts of each event type, which Acta decided. What people and agents wrote is content, which is stored encrypted. */
export interface TaskEventFacts {
  TaskSubmitted: {
    contextId: string;
    ring: string;
    owner: string;
    agent: string;
    /** The first send returned before an outcome, so a direct message response must become a completion. */
    acknowledged: boolean;
  };
  MessageAccepted: {
    messageId: string;
    parts: number;
    /** The size of the message and of the metadata of its request. */
    bytes: number;
    referenceTaskIds?: string[];
    /** The request that brought the message. */
    request: RequestFacts;
  };
  RunStarted: {
    runId: string;
    attempt: number;
    leaseGeneration: number;
    dispatcherGeneration: number;
    worker: string;
  };
  StatusReported: RunFacts &
    AgentMessageFacts & {
      /** The upstream task that does the work from now on. */
      upstream?: UpstreamTask;
    };
  ArtifactPublished: RunFacts & {
    artifactId: string;
    /** True: adds a chunk to the artifact that this run started. False: starts the artifact, or replaces it. */
    append: boolean;
    last: boolean;
    parts: number;
    bytes: number;
  };
  InputRequested: RunFacts & AgentMessageFacts & TurnFacts;
  AuthorizationRequested: RunFacts & AgentMessageFacts & TurnFacts;
  /** An out-of-band authorization was granted: the next turn starts without a message. */
  TaskResumed: { dispatcherGeneration: number };
  ReplySent: RunFacts & AgentMessageFacts;
  TaskCompleted: RunFacts & AgentMessageFacts;
  TaskFailed: RunFacts & AgentMessageFacts & { reason: FailureReason };
  TaskRejected: RunFacts & AgentMessageFacts;
  CancelRequested: { deadline: string };
  /** `seq` is present if the run itself ended with the cancel. */
  TaskCanceled: AgentMessageFacts & { seq?: number; reason: 'idle' | 'agent' | 'deadline' | 'lease' | 'holder' };
  RunLost: {
    runId: string;
    reason: LossReason;
    /** What ended the run, such as `agent process exited with code 1`. It contains nothing that an agent wrote. */
    cause?: string;
    /** The next run of this turn gets an agent process of its own, because this one may have ended the process. */
    ownProcess?: true;
    seq?: number;
  };
  RunRetried: { attempt: number; dispatcherGeneration: number; notBefore: string | null; counted: boolean };
  /** The webhook receives the events that follow. A second event of the same user and id replaces it. */
  PushConfigSet: WebhookId & { protocolVersion: string };
  /** With a reason: Acta retired the webhook. A later `PushConfigSet` of the same user and id creates it again. */
  PushConfigDeleted: WebhookId & { reason?: RetirementReason };
}

/** The task of an upstream agent that does the work of this task. The upstream agent assigned its ids. */
export interface UpstreamTask {
  readonly taskId: string;
  readonly contextId: string;
  /** Id of the newest message that was sent to it. */
  readonly messageId: string;
}

interface RunFacts {
  runId: string;
  seq: number;
}

interface AgentMessageFacts {
  messageId?: string;
  bytes?: number;
}

interface TurnFacts {
  /** The run has not read the newest message, which therefore starts the next turn immediately. */
  nextTurn: boolean;
}

export type FailureReason = 'agent' | 'attempts-exhausted' | 'invalid-agent-response';
/** `status-410`: the target responded that it no longer exists (RFC 9110, section 15.5.11). */
export type RetirementReason = 'status-410';
/** `database-error`: the database rejected a read or a write of the run for a reason that the agent cannot have caused. */
export type LossReason =
  'lease-expired' | 'retryable-error' | 'released' | 'process-ended' | 'timed-out' | 'database-error';

export type TaskEventType = keyof TaskEventFacts;

const ENDS_RUN: Record<TaskEventType, boolean> = {
  TaskSubmitted: false,
  MessageAccepted: false,
  RunStarted: false,
  StatusReported: false,
  ArtifactPublished: false,
  InputRequested: true,
  AuthorizationRequested: true,
  TaskResumed: false,
  ReplySent: true,
  TaskCompleted: true,
  TaskFailed: true,
  TaskRejected: true,
  CancelRequested: false,
  TaskCanceled: true,
  RunLost: true,
  RunRetried: false,
  PushConfigSet: false,
  PushConfigDeleted: false,
};

/** The types of the events that end a run, if one holds the task. */
export const RUN_END_EVENTS: readonly TaskEventType[] = (Object.keys(ENDS_RUN) as TaskEventType[]).filter(
  (type) => ENDS_RUN[type],
);

/** One event of a task. */
export type TaskEvent = {
  [T in TaskEventType]: { readonly type: T; readonly facts: TaskEventFacts[T]; readonly content?: EventContent };
}[TaskEventType];

/** The position of an event in its stream, and the columns beside its facts that a fold needs. */
export interface EventPosition {
  /** Counts from 1 in each stream. */
  readonly version: number;
  /** RFC 3339, UTC, milliseconds. */
  readonly recordedAt: string;
  /** Later events name it as their cause. */
  readonly eventId: string;
  /** The trace context of the request that the event belongs to. */
  readonly trace?: TraceContext;
}
