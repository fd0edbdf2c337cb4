import { BOUNDS } from '../bounds.js';
import { encodedBytes, type ArtifactContent, type Message } from '../content.js';
import type { MessageRequest } from '../message-request.js';
import type { TaskState } from '../task/task.state.js';
import {
  messagePlaceholder,
  type MissingContent,
  placeholderBytes,
  placeholderPart,
  type ViewPart,
} from './placeholder.js';
import type { ArtifactView, TaskView, TruncatedCounts } from './task.view.js';

/** A message of a task with its size in bytes, which is known even if the content cannot be read. */
export interface SizedMessage {
  readonly messageId: string;
  readonly role: Message['role'];
  readonly bytes: number;
  /** Null: the content cannot be read, and a view omits the message. */
  readonly message: Message | null;
  /** The request that brought the message. Absent for a message of the agent. */
  readonly request?: MessageRequest;
}

/** An artifact of a task; `bytes` and `parts` are the sums of its chunks. */
export interface SizedArtifact {
  readonly artifactId: string;
  readonly bytes: number;
  readonly parts: number;
  readonly artifact: ArtifactContent;
  /** Why chunks are missing, if any are. */
  readonly missing?: MissingContent;
}

/**
 * A task before the bounds of a view apply. A reader may omit what no view shows: all but the newest messages and artifacts
 * within `BOUNDS`, and content beyond the pieces that `countWithin` counts.
 */
export interface UnboundedTask {
  readonly tenantId: string;
  readonly taskId: string;
  readonly state: TaskState;
  readonly statusMessage?: SizedMessage;
  /** Oldest first, without the status message. */
  readonly history: readonly SizedMessage[];
  /** Number of messages in the task, including those that were not read. */
  readonly historyCount: number;
  /** In the order in which they were started. */
  readonly artifacts: readonly SizedArtifact[];
  readonly artifactCount: number;
}

/** Upper bounds, in bytes, of what a wire adds to each part, to each message or artifact, and to the task itself. */
const PART_OVERHEAD = 128;
const PIECE_OVERHEAD = 128;
const TASK_OVERHEAD = 4_096;
/** Bytes of a task that a status message leaves for the placeholders of all other content. */
const RESERVED_BYTES = 256 * 1024;

/**
 * Returns a view of a task within the bounds of one response. The view omits the oldest messages first. If it
 * is still too large, the parts of the last artifacts are replaced, by one placeholder for each artifact. `truncated` counts what was
 * omitted, except for messages beyond `historyLength`, which the client did not request. Sizes are upper bounds for every
 * wire, so that all protocol versions show the same content.
 */
export function boundView(task: UnboundedTask, historyLength = Infinity): TaskView {
  const { tenantId, taskId, state } = task;
  const ids = encodedBytes([state.contextId, taskId]);
  const status = boundStatus(task, ids);
  const artifacts = boundArtifacts(task);
  let remainingBytes = BOUNDS.taskBytes - TASK_OVERHEAD - ids - status.size;
  for (const artifact of artifacts) remainingBytes -= artifact.size;
  // Artifacts lose parts only if no history is left.
  const historyBytes = countWithin(newestArtifacts(task), BOUNDS.taskBytes) < artifacts.length ? -1 : remainingBytes;
  const { history, unreadable, omitted } = newestHistory(task, historyLength, { ids, historyBytes });
  for (let index = artifacts.length - 1; index >= 0 && remainingBytes < 0; index -= 1) {
    const { view, size, omittedParts } = artifacts[index]!;
    const replaced = withoutParts(taskId, view.artifactId, view.parts.length + Math.max(0, omittedParts - 1));
    artifacts[index] = replaced;
    remainingBytes += size - replaced.size;
  }
  const truncated = nonZero({
    history: omitted,
    artifacts: task.artifactCount - artifacts.length,
    parts: artifacts.reduce((sum, artifact) => sum + artifact.omittedParts, 0),
    statusMessage: status.tooLarge ? 1 : 0,
    unreadable:
      unreadable +
      (task.statusMessage?.message === null && !status.tooLarge ? 1 : 0) +
      task.artifacts.filter((artifact) => artifact.missing === 'unreadable').length,
  });
  return {
    tenantId,
    taskId,
    state,
    ...(status.message === undefined ? {} : { statusMessage: status.message }),
    history,
    artifacts: artifacts.map(({ view }) => view),
    ...(truncated === undefined ? {} : { truncated }),
  };
}

/** Returns an upper bound of the bytes of a view in a response of any wire. */
export function viewBytes({ taskId, state, statusMessage, history, artifacts }: TaskView): number {
  const ids = encodedBytes([state.contextId, taskId]);
  const messages = statusMessage === undefined ? history : [...history, statusMessage];
  const sizes = [
    ...messages.map((message) => sizeOf(message, ids)),
    ...artifacts.map((artifact) => sizeOf(artifact, 0)),
  ];
  return sizes.reduce((sum, size) => sum + size, TASK_OVERHEAD / 4 + ids);
}

/** Returns how many of the pieces, counted from the first, fit into a number of bytes. */
export function countWithin(pieces: readonly { readonly bytes: number }[], bytes: number): number {
  let sum = 0;
  const firstOver = pieces.findIndex((piece) => (sum += piece.bytes) > bytes);
  return firstOver < 0 ? pieces.length : firstOver;
}

function boundStatus({ taskId, statusMessage }: UnboundedTask, ids: number) {
  const none = { message: undefined, size: 0, tooLarge: false };
  if (statusMessage === undefined) return none;
  const { bytes, message } = statusMessage;
  const limit = BOUNDS.taskBytes - RESERVED_BYTES;
  if (bytes <= limit) {
    if (message === null) return none;
    const size = sizeOf(message, ids);
    if (size <= limit) return { message, size, tooLarge: false };
  }
  const replaced = messagePlaceholder(taskId, statusMessage, 'too-large');
  return { message: replaced, size: sizeOf(replaced, ids), tooLarge: true };
}

/** Returns the newest messages that fit into `historyBytes`, oldest first. */
function newestHistory(
  task: UnboundedTask,
  historyLength: number,
  { ids, historyBytes }: { ids: number; historyBytes: number },
) {
  let agentMessages = 0;
  const requested = [...task.history]
    .reverse()
    .filter(({ role }) => role === 'user' || ++agentMessages <= BOUNDS.agentMessages)
    .slice(0, historyLength);
  const history: Message[] = [];
  let unreadable = 0;
  let remainingBytes = historyBytes;
  for (const { message } of requested.slice(0, countWithin(requested, BOUNDS.taskBytes))) {
    if (message === null) unreadable += 1;
    else {
      remainingBytes -= sizeOf(message, ids);
      if (remainingBytes < 0) break;
      history.push(message);
    }
  }
  const omitted = Math.min(historyLength, task.historyCount) - history.length - unreadable;
  return { history: history.reverse(), unreadable, omitted };
}

interface BoundArtifact {
  readonly view: ArtifactView;
  readonly size: number;
  /** Number of parts that the view does not show. */
  readonly omittedParts: number;
}

const newestArtifacts = ({ artifacts }: UnboundedTask) => artifacts.slice(-BOUNDS.taskArtifacts);

function boundArtifacts(task: UnboundedTask): BoundArtifact[] {
  const { taskId } = task;
  const newest = newestArtifacts(task);
  const readable = countWithin(newest, BOUNDS.taskBytes);
  return newest.map(({ artifactId, artifact, parts, missing }, index) => {
    if (index >= readable) return withoutParts(taskId, artifactId, parts);
    if (artifact.parts.length === 0) {
      const placeholder = placeholderPart({ reason: missing ?? 'erased', taskId, artifactId });
      return measured({ artifactId, ...artifact, parts: [placeholder] }, 0);
    }
    if (artifact.parts.length <= BOUNDS.artifactParts) return measured({ artifactId, ...artifact }, 0);
    const kept = BOUNDS.artifactParts - 1;
    const omittedParts = artifact.parts.length - kept;
    const placeholder = placeholderPart({ reason: 'too-large', taskId, artifactId, parts: omittedParts });
    return measured({ artifactId, ...artifact, parts: [...artifact.parts.slice(0, kept), placeholder] }, omittedParts);
  });
}

const withoutParts = (taskId: string, artifactId: string, parts: number): BoundArtifact =>
  measured({ artifactId, parts: [placeholderPart({ reason: 'too-large', taskId, artifactId, parts })] }, parts);

const measured = (view: ArtifactView, omittedParts: number): BoundArtifact => ({
  view,
  size: sizeOf(view, 0),
  omittedParts,
});

function sizeOf(piece: { readonly parts: readonly ViewPart[] }, ids: number): number {
  const placeholders = piece.parts.flatMap(({ placeholder }) => placeholder ?? []);
  const content = { ...piece, parts: piece.parts.filter(({ placeholder }) => placeholder === undefined) };
  const bytes = placeholders.reduce((sum, placeholder) => sum + placeholderBytes(placeholder), encodedBytes(content));
  return bytes + ids + PIECE_OVERHEAD + PART_OVERHEAD * piece.parts.length;
}

function nonZero(counts: TruncatedCounts): TruncatedCounts | undefined {
  const entries = Object.entries(counts).filter(([, count]) => count > 0);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
