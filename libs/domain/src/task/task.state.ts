import type { TraceContext } from '../trace-context.js';
import type { UpstreamTask } from './task.events.js';
import type { WebhookId } from './webhook-id.js';

const ACTIVE_STATUSES = ['submitted', 'working'] as const;
const INTERRUPTED_STATUSES = ['input-required', 'auth-required'] as const;
/** `replied`: the task ended with a direct message response, and A2A never shows it as a task. */
const TERMINAL_STATUSES = ['completed', 'failed', 'rejected', 'canceled', 'replied'] as const;
export const TASK_STATUSES = [...ACTIVE_STATUSES, ...INTERRUPTED_STATUSES, ...TERMINAL_STATUSES] as const;

export type TaskStatus = (typeof TASK_STATUSES)[number];
type InterruptedStatus = (typeof INTERRUPTED_STATUSES)[number];
type TerminalStatus = (typeof TERMINAL_STATUSES)[number];

const isOneOf = <T extends TaskStatus>(statuses: readonly T[], status: TaskStatus): status is T =>
  (statuses as readonly TaskStatus[]).includes(status);

export const isTerminal = (status: TaskStatus): status is TerminalStatus => isOneOf(TERMINAL_STATUSES, status);

export const isInterrupted = (status: TaskStatus): status is InterruptedStatus => isOneOf(INTERRUPTED_STATUSES, status);

/** One attempt of an agent to execute the current turn. */
export interface Run {
  readonly id: string;
  /** Id of its `RunStarted`, which is the cause of its events. */
  readonly eventId: string;
  /** The trace context of the request that it executes. */
  readonly trace?: TraceContext;
  readonly attempt: number;
  readonly leaseGeneration: number;
  readonly dispatcherGeneration: number;
  readonly worker: string;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly outcome: 'lost' | 'completed' | 'failed' | 'rejected' | 'canceled' | 'interrupted' | 'replied' | null;
  /** Sequence number of the last recorded write. A repeated write adds nothing. */
  readonly seq: number;
  /** Ids of the artifacts that this run has started. */
  readonly artifacts: readonly string[];
}

/** What `decide` needs to know of a task. It contains facts only, because it is stored unencrypted beside the task. */
export interface TaskState {
  readonly contextId: string;
  readonly ring: string;
  readonly owner: string;
  readonly agent: string;
  readonly status: TaskStatus;
  /** When the status last changed or was reported. Chunks and messages do not change it. */
  readonly statusAt: string;
  /** Version of the event whose message is the status message, if any. */
  readonly statusMessage: number | null;
  readonly createdAt: string;
  /** When the current turn was queued; absent in the first turn, which is queued when the task is created. */
  readonly queuedAt?: string;
  /** Id of the event that queued the current turn, or its retry. It is the cause of the next run. */
  readonly queuedBy: string;
  /** The trace context of the newest request that the agent has to process: a message, or a resume. */
  readonly trace?: TraceContext;
  /** When the last event was recorded. */
  readonly recordedAt: string;
  readonly version: number;
  readonly leaseGeneration: number;
  readonly dispatcherGeneration: number;
  /** Attempts of the current turn that count against the agent's limit. */
  readonly attempts: number;
  readonly notBefore: string | null;
  readonly run: Run | null;
  /** The runs of this turn get an agent process of their own, because one of them may have ended a process. */
  readonly ownProcess?: true;
  /** A client knows the task: its send has returned, or it could see some of the work. A direct message response is no longer possible. */
  readonly acknowledged: boolean;
  readonly clientMessages: { readonly count: number; readonly bytes: number; readonly lastVersion: number };
  readonly cancelDeadline: string | null;
  /** Id of the `CancelRequested`, which is the cause of the cancel that follows it. */
  readonly cancelRequestedBy?: string;
  /** The task of an upstream agent that does the work. Later runs and turns continue it. Absent until that agent has named it. */
  readonly upstream?: UpstreamTask;
  /** The task failed because the output of its agent violated the contract. */
  readonly invalidResponse?: true;
  /** Dispatcher generation of the last turn that a resume started. It identifies a repeat of that resume, even after the end. */
  readonly resumedGeneration?: number;
  /** The webhooks; absent if there are none. */
  readonly pushConfigs?: readonly WebhookId[];
}

/** Returns the run that holds the task now, if any. */
export const activeRun = (state: TaskState): Run | null =>
  state.run !== null && state.run.endedAt === null && !isTerminal(state.status) ? state.run : null;

/** Returns whether the task waits for a worker. */
export const isQueued = (state: TaskState): boolean =>
  !isTerminal(state.status) && !isInterrupted(state.status) && activeRun(state) === null;
