import type { JsonObject } from '@app/domain';
import type { A2aTaskStatus, ListTasksRequest, TaskPage } from '../requests.js';
import type { StreamUpdate } from '../task/stream-update.js';
import { TaskEncoder } from '../task/task-encoder.js';
import type { ProtoEnum } from '../validation/proto-enum.js';
import { encodeMessage, encodePart } from './message.codec.js';

const STATES: Record<A2aTaskStatus, string> = {
  submitted: 'TASK_STATE_SUBMITTED',
  working: 'TASK_STATE_WORKING',
  'input-required': 'TASK_STATE_INPUT_REQUIRED',
  'auth-required': 'TASK_STATE_AUTH_REQUIRED',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  rejected: 'TASK_STATE_REJECTED',
  canceled: 'TASK_STATE_CANCELED',
};

/** The proto's `TaskState`. */
export const STATE_ENUM: ProtoEnum = [
  'TASK_STATE_UNSPECIFIED',
  'TASK_STATE_SUBMITTED',
  'TASK_STATE_WORKING',
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_REJECTED',
  'TASK_STATE_AUTH_REQUIRED',
];

/** Statuses by the names of the proto's `TaskState`. */
export const STATUS_BY_STATE: ReadonlyMap<string, A2aTaskStatus> = new Map(
  Object.entries(STATES).map(([status, state]) => [state, status as A2aTaskStatus]),
);

/** Encodes `Task` (A2A v1.0 section 4.1.1) and `SendMessageResponse`. */
export const taskEncoder = new TaskEncoder({ states: STATES, encodePart, encodeMessage });

/** Encodes `ListTasksResponse`, whose fields are required even if they are zero. */
export function encodeTaskPage(page: TaskPage, { historyLength = 0, includeArtifacts }: ListTasksRequest): JsonObject {
  return {
    tasks: page.tasks.map((view) => taskEncoder.task(view, { historyLength, artifacts: includeArtifacts })),
    nextPageToken: page.nextPageToken,
    pageSize: page.pageSize,
    totalSize: page.totalSize,
  };
}

/** Encodes a `StreamResponse`. */
export function encodeUpdate(update: StreamUpdate): JsonObject {
  switch (update.type) {
    case 'task':
      return { task: taskEncoder.task(update.view, { historyLength: update.historyLength }) };
    case 'message':
      return { message: encodeMessage(update.message, { contextId: update.ids.contextId }) };
    case 'status': {
      const { ids, state, message } = update;
      return { statusUpdate: { ...ids, status: taskEncoder.status(state, ids, message) } };
    }
    case 'artifact': {
      const { ids, artifact, append, last } = update;
      const flags = { ...(append ? { append } : {}), ...(last ? { lastChunk: last } : {}) };
      return { artifactUpdate: { ...ids, artifact: taskEncoder.artifact(artifact), ...flags } };
    }
  }
}
