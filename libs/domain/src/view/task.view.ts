import type { ArtifactContent, Message } from '../content.js';
import type { EventPosition, TaskEvent } from '../task/task.events.js';
import { isInterrupted, isTerminal, type TaskState } from '../task/task.state.js';
import type { MissingContent, ViewPart } from './placeholder.js';

/** The current content of one artifact: the joined chunks of the run that published it last. */
export interface ArtifactView extends ArtifactContent {
  readonly artifactId: string;
  parts: ViewPart[];
}

/** A message of a view. */
export interface MessageView extends Message {
  parts: ViewPart[];
}

/** How many messages, artifacts, parts and so on the bounds of a view omit. Counts of zero are absent. */
export type TruncatedCounts = Readonly<Record<string, number>>;

/** A task as a caller sees it, before a wire encodes it. */
export interface TaskView {
  readonly tenantId: string;
  readonly taskId: string;
  readonly state: TaskState;
  readonly statusMessage?: MessageView;
  /** Oldest first, without the status message. */
  readonly history: readonly MessageView[];
  readonly artifacts: readonly ArtifactView[];
  /** Absent if the view is complete. */
  readonly truncated?: TruncatedCounts;
}

/** An event at its position in the stream. Its content is decrypted, unless it is `missing`. */
export type RecordedEvent = TaskEvent &
  EventPosition & {
    /** The A2A version of the request that the event records. Absent: no A2A request did. */
    readonly protocolVersion?: string;
    readonly missing?: MissingContent;
    /** A newer version of Acta recorded the event. Its facts are as stored, and some may be unknown. */
    readonly newerSchema?: true;
  };

/** Returns whether a blocking send can return: the task has ended, or it requires input or an authorization. */
export const hasOutcome = ({ status }: TaskState): boolean => isTerminal(status) || isInterrupted(status);

/** Returns whether the task can still end with a direct message response. Until then, a stream shows nothing of the task. */
export const canStillReply = (state: TaskState): boolean => !state.acknowledged && !hasOutcome(state);

/** Returns whether clients are notified of an event: a new status, an artifact chunk, or a direct message response. */
export function isClientVisible(event: TaskEvent, before: TaskState | null, after: TaskState): boolean {
  switch (event.type) {
    case 'MessageAccepted':
      return before !== null && before.status !== after.status;
    case 'CancelRequested':
    case 'RunLost':
    case 'RunRetried':
    case 'PushConfigSet':
    case 'PushConfigDeleted':
      return false;
    case 'TaskSubmitted':
    case 'RunStarted':
    case 'StatusReported':
    case 'ArtifactPublished':
    case 'InputRequested':
    case 'AuthorizationRequested':
    case 'TaskResumed':
    case 'ReplySent':
    case 'TaskCompleted':
    case 'TaskFailed':
    case 'TaskRejected':
    case 'TaskCanceled':
      return true;
  }
}
