import type { EventContent } from '../content.js';

/** Facts of each event type: what Acta decided. What people and agents wrote is content, kept apart and encrypted. */
export interface TaskEventFacts {
  TaskSubmitted: {
    contextId: string;
    ring: string;
    owner: string;
    agent: string;
    /** The first send was answered before any outcome, so a bare reply must become a completion. */
    acknowledged: boolean;
  };
  MessageAccepted: { messageId: string; parts: number; bytes: number; referenceTaskIds?: string[] };
  RunStarted: {
    runId: string;
    attempt: number;
    leaseGeneration: number;
    dispatcherGeneration: number;
    worker: string;
  };
  StatusReported: RunFacts &
    AgentMessageFacts & {
      /** Where the work is done from here on, when another agent does it. */
      upstream?: UpstreamTask;
    };
  ArtifactPublished: RunFacts & {
    artifactId: string;
    /** Adds to the artifact that this run started; otherwise it starts it, or starts it anew. */
    append: boolean;
    last: boolean;
    parts: number;
    bytes: number;
  };
  InputRequested: RunFacts & AgentMessageFacts & TurnFacts;
  AuthorizationRequested: RunFacts & AgentMessageFacts & TurnFacts;
  /** An authorization happened elsewhere: the next turn starts without a message. */
  TaskResumed: { dispatcherGeneration: number };
  ReplySent: RunFacts & AgentMessageFacts;
  TaskCompleted: RunFacts & AgentMessageFacts;
  TaskFailed: RunFacts & AgentMessageFacts & { reason: FailureReason };
  TaskRejected: RunFacts & AgentMessageFacts;
  CancelRequested: { deadline: string };
  /** `seq` where the run itself said so. */
  TaskCanceled: AgentMessageFacts & { seq?: number; reason: 'idle' | 'agent' | 'deadline' | 'lease' | 'holder' };
  RunLost: { runId: string; reason: LossReason; seq?: number };
  RunRetried: { attempt: number; dispatcherGeneration: number; notBefore: string; counted: boolean };
  /** A webhook hears of what comes after. The same id again replaces it. */
  PushConfigSet: { configId: string; protocolVersion: string };
  PushConfigDeleted: { configId: string };
}

/** The task of another agent that does the work of this one. Its ids are that agent's. */
export interface UpstreamTask {
  readonly taskId: string;
  readonly contextId: string;
  /** Id under which the newest message that it has was sent to it. */
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
  /** A message that the run never read starts the next turn at once. */
  nextTurn: boolean;
}

export type FailureReason = 'agent' | 'attempts-exhausted' | 'invalid-agent-response';
export type LossReason = 'lease-expired' | 'retryable-error' | 'released';

export type TaskEventType = keyof TaskEventFacts;

/** Past-tense facts of one task, in the order of their versions. */
export type TaskEvent = {
  [T in TaskEventType]: { readonly type: T; readonly facts: TaskEventFacts[T]; readonly content?: EventContent };
}[TaskEventType];

/** Where an event stands in its stream: what `evolve` needs beside the event itself. */
export interface StreamPosition {
  /** Counts from 1 in each stream. */
  readonly version: number;
  /** RFC 3339, UTC, milliseconds. */
  readonly recordedAt: string;
}

/** Version that new events are written with; a change of an event's shape raises it and adds an upcaster. */
export const EVENT_SCHEMA_VERSION = 1;
