import type { JsonObject, TaskView } from '@app/domain';
import type { A2aTaskStatus } from '../requests.js';
import type { StreamUpdate } from '../task/stream-update.js';
import { TaskEncoder } from '../task/task-encoder.js';
import { encodeMessage } from './message.codec.js';
import { encodePart } from './part.codec.js';

/** The `TaskState` of each status. The names are the same, because the domain uses those of v0.3. */
export const STATES: Record<A2aTaskStatus, string> = {
  submitted: 'submitted',
  working: 'working',
  'input-required': 'input-required',
  'auth-required': 'auth-required',
  completed: 'completed',
  failed: 'failed',
  rejected: 'rejected',
  canceled: 'canceled',
};

const taskEncoder = new TaskEncoder({ states: STATES, encodePart, encodeMessage });

/** Encodes a `Task` (A2A v0.3 section 6.1). */
export const encodeTask = (view: TaskView, historyLength?: number): JsonObject => ({
  kind: 'task',
  ...taskEncoder.task(view, { historyLength }),
});

/** Encodes the result of `message/send`: the task, or the direct message response. */
export const encodeSendResult = (view: TaskView, historyLength?: number): JsonObject =>
  view.state.status === 'replied' ? taskEncoder.directMessage(view) : encodeTask(view, historyLength);

/** Encodes the result of one frame of `message/stream`. */
export function encodeUpdate(update: StreamUpdate): JsonObject {
  switch (update.type) {
    case 'task':
      return encodeTask(update.view, update.historyLength);
    case 'message':
      return encodeMessage(update.message, { contextId: update.ids.contextId });
    case 'status': {
      const { ids, state, message, final } = update;
      return { kind: 'status-update', ...ids, status: taskEncoder.status(state, ids, message), final };
    }
    case 'artifact': {
      const { ids, artifact, append, last } = update;
      return { kind: 'artifact-update', ...ids, artifact: taskEncoder.artifact(artifact), append, lastChunk: last };
    }
  }
}
