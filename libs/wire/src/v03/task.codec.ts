import type { JsonObject, Message, TaskState, TaskView } from '@app/domain';
import type { StreamUpdate } from '../stream-update.js';
import { recentHistory, taskMetadata } from '../task-metadata.js';
import { encodeArtifact, encodeMessage } from './message.codec.js';

/** A task as `Task` (A2A v0.3 section 6.1). A task that ended in a bare reply is none: asking for one is a bug. */
export function encodeTask(view: TaskView, historyLength?: number): JsonObject {
  const { taskId, state } = view;
  const ids = { contextId: state.contextId, taskId };
  const history = recentHistory(view, historyLength);
  const metadata = taskMetadata(view);
  return {
    kind: 'task',
    id: taskId,
    contextId: state.contextId,
    status: encodeStatus(state, ids, view.statusMessage),
    ...(view.artifacts.length > 0 ? { artifacts: view.artifacts.map(encodeArtifact) } : {}),
    ...(history.length > 0 ? { history: history.map((message) => encodeMessage(message, ids)) } : {}),
    ...(metadata === undefined ? {} : { metadata }),
  };
}

/** The domain's words for states are those of v0.3. */
function encodeStatus(
  { status, statusAt }: TaskState,
  ids: { contextId: string; taskId: string },
  message: Message | undefined,
): JsonObject {
  if (status === 'replied')
    throw new Error(`task ${ids.taskId} ended in a bare reply, which A2A never shows as a task`);
  return {
    state: status,
    ...(message === undefined ? {} : { message: encodeMessage(message, ids) }),
    timestamp: statusAt,
  };
}

/** The result of `message/send`: the task, or the message of a bare reply. */
export function encodeSendResult(view: TaskView, historyLength?: number): JsonObject {
  if (view.state.status !== 'replied') return encodeTask(view, historyLength);
  if (view.statusMessage === undefined) throw new Error(`task ${view.taskId} was replied to without a message`);
  return encodeMessage(view.statusMessage, { contextId: view.state.contextId });
}

/** The result of one frame of `message/stream`. */
export function encodeUpdate(update: StreamUpdate): JsonObject {
  switch (update.type) {
    case 'task':
      return encodeTask(update.view, update.historyLength);
    case 'message':
      return encodeMessage(update.message, { contextId: update.ids.contextId });
    case 'status': {
      const { ids, state, message, final } = update;
      return { kind: 'status-update', ...ids, status: encodeStatus(state, ids, message), final };
    }
    case 'artifact': {
      const { ids, artifact, append, last } = update;
      return { kind: 'artifact-update', ...ids, artifact: encodeArtifact(artifact), append, lastChunk: last };
    }
  }
}
