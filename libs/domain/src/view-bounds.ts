import { BOUNDS } from './bounds.js';
import { encodedBytes, type ArtifactContent, type Message, type Part } from './content.js';
import type { TaskState } from './task.state.js';
import type { ArtifactView, TaskView } from './task.view.js';

/** A message of a task. Its size is a fact of the record, also when what was said cannot be read. */
export interface SizedMessage {
  readonly role: Message['role'];
  readonly bytes: number;
  /** Null: its content cannot be read, and a view passes it over. */
  readonly message: Message | null;
}

/** An artifact of a task: `bytes` and `parts` are those of all its chunks. */
export interface SizedArtifact {
  readonly artifactId: string;
  readonly bytes: number;
  readonly parts: number;
  readonly artifact: ArtifactContent;
  /** Why the artifact has no parts, when it has none. */
  readonly missing?: MissingContent;
}

/** `erased`: the key of the task's content was destroyed. `unreadable`: the stored bytes are not what was stored. */
export type MissingContent = 'erased' | 'unreadable';

/** What a view is made of, before its bounds. */
export interface WholeTask {
  readonly tenantId: string;
  readonly taskId: string;
  readonly state: TaskState;
  readonly statusMessage?: SizedMessage;
  /**
   * Oldest first, without the status message. A reader may leave out what no view shows: all but the newest messages, and of
   * these what lies beyond `BOUNDS.taskBytes` counted from the newest.
   */
  readonly history: readonly SizedMessage[];
  /** How many there are, whatever was read. */
  readonly historyCount: number;
  /** In the order in which they were started; a reader may leave out all but the newest, with the same right. */
  readonly artifacts: readonly SizedArtifact[];
  readonly artifactCount: number;
}

/** What each wire adds at most around a part, a message or an artifact, and to a task beside them. */
const PART_OVERHEAD = 128;
const PIECE_OVERHEAD = 128;
const TASK_OVERHEAD = 4_096;
/** A status message leaves this much of a task for placeholders. */
const PLACEHOLDERS = 256 * 1024;

/**
 * A task within the bounds of one answer (design section 6). It loses its oldest history first, then the parts of its last
 * artifacts, each of which shows one placeholder part instead that names where the parts are; `truncated` counts what is
 * missing. Sizes are upper bounds of both wire versions, so that both show the same. `historyLength` bounds the history
 * further, and what it leaves out is not missing.
 */
export function boundView(task: WholeTask, historyLength = Infinity): TaskView {
  const { tenantId, taskId, state } = task;
  const ids = encodedBytes([state.contextId, taskId]);
  const missing = { history: 0, artifacts: 0, parts: 0, statusMessage: 0, unreadable: 0 };

  let statusMessage = task.statusMessage?.message ?? undefined;
  if (task.statusMessage?.message === null) missing.unreadable += 1;
  if (statusMessage !== undefined && sizeOf(statusMessage, ids) > BOUNDS.taskBytes - PLACEHOLDERS) {
    const { messageId, role, parts } = statusMessage;
    statusMessage = { messageId, role, parts: [placeholder('too-large', messagesPath(taskId), parts.length)] };
    missing.statusMessage = 1;
  }

  const shown = task.artifacts.slice(-BOUNDS.taskArtifacts);
  missing.artifacts = task.artifactCount - shown.length;
  const read = prefixWithin(shown, BOUNDS.taskBytes);
  const artifacts = shown.map((artifact, at) =>
    at < read ? withinParts(taskId, artifact) : withoutParts(taskId, artifact.artifactId, artifact.parts),
  );

  let budget = BOUNDS.taskBytes - TASK_OVERHEAD - ids;
  if (statusMessage !== undefined) budget -= sizeOf(statusMessage, ids);
  for (const { view } of artifacts) budget -= sizeOf(view, 0);
  const wanted = newest(withinAgentMessages(task.history), historyLength).reverse();
  const history: Message[] = [];
  for (const { message } of wanted.slice(0, prefixWithin(wanted, BOUNDS.taskBytes))) {
    if (message === null) {
      missing.unreadable += 1;
      continue;
    }
    budget -= sizeOf(message, ids);
    if (budget < 0) {
      budget += sizeOf(message, ids);
      break;
    }
    history.push(message);
  }
  return {} as TaskView;
}
