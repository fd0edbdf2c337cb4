import type { ArtifactContent, JsonObject, Message } from '../content.js';
import type { StreamPosition, TaskEvent } from '../task/task.events.js';
import { isTerminal, type TaskState } from '../task/task.state.js';

/** One artifact as it stands: the chunks of the run that published it last, joined. */
export interface ArtifactView extends ArtifactContent {
  readonly artifactId: string;
}

/** A task as a caller sees it, before any wire. */
export interface TaskView {
  readonly tenantId: string;
  readonly taskId: string;
  readonly state: TaskState;
  readonly statusMessage?: Message;
  /** Oldest first, without the status message. */
  readonly history: readonly Message[];
  readonly artifacts: readonly ArtifactView[];
  /** What the bounds left out, in the words of `metadata["acta/truncated"]`; absent when nothing was. */
  readonly truncated?: JsonObject;
}

/** Why content is not there: the key was destroyed, or the stored bytes are not what was stored. */
export type MissingContent = 'erased' | 'unreadable';

/** An event in its place, its content readable unless it is `missing`. */
export type RecordedEvent = TaskEvent & StreamPosition & { readonly missing?: MissingContent };

/** Whether whoever waits for an outcome has one: the task ended or asks for something. */
export const hasOutcome = (state: TaskState): boolean =>
  isTerminal(state.status) || state.status === 'input-required' || state.status === 'auth-required';

/**
 * Whether the task may still end in a bare reply, which is no task for its client: until that is settled, nothing of it is
 * sent on a stream.
 */
export const canStillReply = (state: TaskState): boolean => !state.acknowledged && !hasOutcome(state);

/** Whether an event tells a client anything: a status that was set, an artifact chunk, a bare reply. */
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
    default:
      return true;
  }
}
