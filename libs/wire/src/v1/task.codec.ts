import type { JsonObject, Message, TaskState, TaskStatus, TaskView } from '@app/domain';
import type { ListTasksRequest, TaskPage } from '../requests.js';
import { recentHistory, taskMetadata } from '../task-metadata.js';
import type { StreamUpdate } from '../stream-update.js';
import { encodeArtifact, encodeMessage } from './message.codec.js';

type VisibleStatus = Exclude<TaskStatus, 'replied'>;

const STATES: Record<VisibleStatus, string> = {
  submitted: 'TASK_STATE_SUBMITTED',
  working: 'TASK_STATE_WORKING',
  'input-required': 'TASK_STATE_INPUT_REQUIRED',
  'auth-required': 'TASK_STATE_AUTH_REQUIRED',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  rejected: 'TASK_STATE_REJECTED',
  canceled: 'TASK_STATE_CANCELED',
};

/** Proto name → status, for filters. */
export const STATUS_BY_STATE: ReadonlyMap<string, VisibleStatus> = new Map(
  Object.entries(STATES).map(([status, name]) => [name, status as VisibleStatus]),
);

interface TaskOptions {
  /** Upper bound of the messages shown; absent shows what the view has. */
  readonly historyLength?: number;
  readonly artifacts?: boolean;
}

/** A task as `Task` (A2A v1.0 section 4.1.1). A task that ended in a bare reply is none: asking for one is a bug. */
export function encodeTask(view: TaskView, { historyLength, artifacts = true }: TaskOptions = {}): JsonObject {
  const { taskId, state } = view;
  const ids = { contextId: state.contextId, taskId };
  const history = recentHistory(view, historyLength);
  const metadata = taskMetadata(view);
  return {
    id: taskId,
    contextId: state.contextId,
    status: encodeStatus(state, ids, view.statusMessage),
    ...(artifacts && view.artifacts.length > 0 ? { artifacts: view.artifacts.map(encodeArtifact) } : {}),
    ...(history.length > 0 ? { history: history.map((message) => encodeMessage(message, ids)) } : {}),
    ...(metadata === undefined ? {} : { metadata }),
  };
}

function encodeStatus(
  { status, statusAt }: TaskState,
  ids: { contextId: string; taskId: string },
  message: Message | undefined,
): JsonObject {
  if (status === 'replied')
    throw new Error(`task ${ids.taskId} ended in a bare reply, which A2A never shows as a task`);
  return {
    state: STATES[status],
    ...(message === undefined ? {} : { message: encodeMessage(message, ids) }),
    timestamp: statusAt,
  };
}

/** `SendMessageResponse`: the task, or the message of a bare reply. */
export function encodeSendResult(view: TaskView, historyLength?: number): JsonObject {
  if (view.state.status !== 'replied') return { task: encodeTask(view, { historyLength }) };
  if (view.statusMessage === undefined) throw new Error(`task ${view.taskId} was replied to without a message`);
  return { message: encodeMessage(view.statusMessage, { contextId: view.state.contextId }) };
}

/** `ListTasksResponse`: every field is required, and written even when zero. */
export function encodeTaskPage(page: TaskPage, { historyLength = 0, includeArtifacts }: ListTasksRequest): JsonObject {
  return {
    tasks: page.tasks.map((view) => encodeTask(view, { historyLength, artifacts: includeArtifacts })),
    nextPageToken: page.nextPageToken,
    pageSize: page.pageSize,
    totalSize: page.totalSize,
  };
}

/** One `StreamResponse`. */
export function encodeUpdate(update: StreamUpdate): JsonObject {
  switch (update.type) {
    case 'task':
      return { task: encodeTask(update.view, { historyLength: update.historyLength }) };
    case 'message':
      return { message: encodeMessage(update.message, { contextId: update.ids.contextId }) };
    case 'status': {
      const { ids, state, message } = update;
      return { statusUpdate: { ...ids, status: encodeStatus(state, ids, message) } };
    }
    case 'artifact': {
      const { ids, artifact, append, last } = update;
      const flags = { ...(append ? { append } : {}), ...(last ? { lastChunk: last } : {}) };
      return { artifactUpdate: { ...ids, artifact: encodeArtifact(artifact), ...flags } };
    }
  }
}
