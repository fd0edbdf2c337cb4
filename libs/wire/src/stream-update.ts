import {
  hasOutcome,
  type ArtifactView,
  type Message,
  type RecordedEvent,
  type TaskState,
  type TaskView,
  visibleChunk,
} from '@app/domain';

/** What a stream or a webhook tells of a task, before any version's shape. */
export type StreamUpdate =
  | { readonly type: 'task'; readonly view: TaskView; readonly historyLength?: number }
  | { readonly type: 'message'; readonly ids: UpdateIds; readonly message: Message }
  | {
      readonly type: 'status';
      readonly ids: UpdateIds;
      readonly state: TaskState;
      readonly message?: Message;
      /** Nothing follows on a stream that ends with its turn: the task ended or asks for something (v0.3's `final`). */
      readonly final: boolean;
    }
  | {
      readonly type: 'artifact';
      readonly ids: UpdateIds;
      readonly artifact: ArtifactView;
      readonly append: boolean;
      readonly last: boolean;
    };

export interface UpdateIds {
  readonly taskId: string;
  readonly contextId: string;
}

/**
 * What one event tells a client: a status that was set, an artifact chunk, a bare reply, or nothing (claims that change no status,
 * retries, messages of the client's own). `before` is the state that the event came upon, null before the first one.
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
      // A follow-up moves a waiting task on; the message itself is its sender's and is told to nobody.
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
      const said = message === undefined ? {} : { message };
      return [{ type: 'status', ids, state: after, ...said, final: hasOutcome(after) }];
    }
    case 'CancelRequested':
    case 'RunLost':
    case 'RunRetried':
    case 'PushConfigSet':
    case 'PushConfigDeleted':
      return [];
  }
}
