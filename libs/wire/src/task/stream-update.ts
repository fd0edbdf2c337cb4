import {
  hasOutcome,
  type ArtifactView,
  type Message,
  type RecordedEvent,
  type TaskState,
  type TaskView,
  visibleChunk,
} from '@app/domain';

/** An update of a stream or a webhook, which each version encodes in its own shape. */
export type StreamUpdate =
  | { readonly type: 'task'; readonly view: TaskView; readonly historyLength?: number }
  | { readonly type: 'message'; readonly ids: UpdateIds; readonly message: Message }
  | {
      readonly type: 'status';
      readonly ids: UpdateIds;
      readonly state: TaskState;
      readonly message?: Message;
      /** The turn has ended: the task has ended, or it requires input or an authorization (v0.3's `final`). */
      readonly final: boolean;
    }
  | {
      readonly type: 'artifact';
      readonly ids: UpdateIds;
      readonly artifact: ArtifactView;
      readonly append: boolean;
      readonly last: boolean;
    };

interface UpdateIds {
  readonly taskId: string;
  readonly contextId: string;
}

/**
 * Returns the updates that clients receive for one event: a new status, an artifact chunk, a direct message response, or nothing
 * (for messages of the client, retries and webhook settings). `before` is the state before the event, null for the first event.
 */
export function updatesOf(
  event: RecordedEvent,
  before: TaskState | null,
  after: TaskState,
  taskId: string,
): StreamUpdate[] {
  const ids = { taskId, contextId: after.contextId };
  const message = event.content?.message;
  switch (event.type) {
    case 'ReplySent':
      return message === undefined ? [] : [{ type: 'message', ids, message }];
    case 'ArtifactPublished': {
      const { artifactId, append, last } = event.facts;
      const artifact = { artifactId, ...visibleChunk(taskId, artifactId, event.content?.artifact, event.missing) };
      return [{ type: 'artifact', ids, artifact, append, last }];
    }
    case 'MessageAccepted':
      // A message can end the wait of a task. Clients receive the new status, but not the message, which one of them sent.
      return before !== null && before.status !== after.status
        ? [{ type: 'status', ids, state: after, final: false }]
        : [];
    case 'TaskSubmitted':
    case 'RunStarted':
    case 'StatusReported':
    case 'InputRequested':
    case 'AuthorizationRequested':
    case 'TaskResumed':
    case 'TaskCompleted':
    case 'TaskFailed':
    case 'TaskRejected':
    case 'TaskCanceled': {
      const optional = message === undefined ? {} : { message };
      return [{ type: 'status', ids, state: after, ...optional, final: hasOutcome(after) }];
    }
    case 'CancelRequested':
    case 'RunLost':
    case 'RunRetried':
    case 'PushConfigSet':
    case 'PushConfigDeleted':
      return [];
  }
}
