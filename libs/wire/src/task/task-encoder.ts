import type { ArtifactView, JsonObject, Message, TaskState, TaskView, ViewPart } from '@app/domain';
import { encodeOptionalFields } from './message-fields.js';
import type { A2aTaskStatus } from '../requests.js';

interface MessageIds {
  readonly contextId: string;
  /** Absent for a direct message response, which belongs to no task. */
  readonly taskId?: string;
}

/** How one binding of one version encodes the content of a task. */
interface TaskFormat {
  /** The `state` of each status. */
  readonly states: Readonly<Record<A2aTaskStatus, string>>;
  readonly encodePart: (part: ViewPart) => JsonObject;
  readonly encodeMessage: (message: Message, ids: MessageIds) => JsonObject;
}

interface TaskOptions {
  /** Upper bound of the number of messages; absent encodes all messages of the view. */
  readonly historyLength?: number;
  readonly artifacts?: boolean;
}

/**
 * Encodes tasks as `Task` (A2A v1.0 section 4.1.1, v0.3 section 6.1), which has the same fields in each binding. A2A does not
 * show a task that ended with a direct message response, so `task` and `status` throw for the status `replied`.
 */
export class TaskEncoder {
  constructor(private readonly format: TaskFormat) {}

  task(view: TaskView, { historyLength, artifacts = true }: TaskOptions = {}): JsonObject {
    const { taskId, state } = view;
    const ids = { contextId: state.contextId, taskId };
    const history = recentHistory(view, historyLength);
    const metadata = taskMetadata(view);
    return {
      id: taskId,
      contextId: state.contextId,
      status: this.status(state, ids, view.statusMessage),
      ...(artifacts && view.artifacts.length > 0
        ? { artifacts: view.artifacts.map((artifact) => this.artifact(artifact)) }
        : {}),
      ...(history.length > 0 ? { history: history.map((message) => this.format.encodeMessage(message, ids)) } : {}),
      ...(metadata === undefined ? {} : { metadata }),
    };
  }

  status({ status, statusAt }: TaskState, ids: Required<MessageIds>, message: Message | undefined): JsonObject {
    if (status === 'replied') {
      throw new Error(`task ${ids.taskId} ended with a direct message response and cannot be encoded as a task`);
    }
    return {
      state: this.format.states[status],
      ...(message === undefined ? {} : { message: this.format.encodeMessage(message, ids) }),
      timestamp: statusAt,
    };
  }

  artifact({ artifactId, parts, ...optional }: ArtifactView): JsonObject {
    return { artifactId, parts: parts.map(this.format.encodePart), ...encodeOptionalFields(optional) };
  }

  /** Encodes the message of a task that ended with a direct message response. */
  directMessage({ taskId, state, statusMessage }: TaskView): JsonObject {
    if (statusMessage === undefined) {
      throw new Error(`task ${taskId} ended with a direct message response, but its view has no message`);
    }
    return this.format.encodeMessage(statusMessage, { contextId: state.contextId });
  }

  /** Encodes a `SendMessageResponse` of ProtoJSON: the task, or the direct message response. */
  sendResponse(view: TaskView, historyLength?: number): JsonObject {
    if (view.state.status === 'replied') return { message: this.directMessage(view) };
    return { task: this.task(view, { historyLength }) };
  }
}

/** Returns `Task.metadata`: the latest run, without its worker, and the number of items that the bounds omitted. */
function taskMetadata({ state: { run }, truncated }: TaskView): JsonObject | undefined {
  if (run === null && truncated === undefined) return undefined;
  return {
    ...(run === null
      ? {}
      : {
          'acta/run': {
            attempt: run.attempt,
            state: run.outcome ?? 'running',
            startedAt: run.startedAt,
            ...(run.endedAt === null ? {} : { endedAt: run.endedAt }),
          },
        }),
    ...(truncated === undefined ? {} : { 'acta/truncated': { ...truncated } }),
  };
}

/** Returns the newest `historyLength` messages, oldest first, or all messages if it is undefined. */
function recentHistory({ history }: TaskView, historyLength: number | undefined): TaskView['history'] {
  if (historyLength === undefined || historyLength >= history.length) return history;
  return historyLength === 0 ? [] : history.slice(-historyLength);
}
