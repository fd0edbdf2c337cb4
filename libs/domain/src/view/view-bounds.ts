import { BOUNDS } from '../bounds.js';
import { encodedBytes, type ArtifactContent, type JsonObject, type Message, type Part } from '../content.js';
import type { TaskState } from '../task/task.state.js';
import type { ArtifactView, MissingContent, TaskView } from './task.view.js';

/** A message of a task. Its size is a fact of the record, also when what was said cannot be read. */
export interface SizedMessage {
  readonly messageId: string;
  readonly role: Message['role'];
  readonly bytes: number;
  /** Null: its content cannot be read, and a view passes it over. */
  readonly message: Message | null;
}

/** An artifact of a task; `bytes` and `parts` are the sums of its chunks. */
export interface SizedArtifact {
  readonly artifactId: string;
  readonly bytes: number;
  readonly parts: number;
  readonly artifact: ArtifactContent;
  /** Why chunks of it are missing, if any are. */
  readonly missing?: MissingContent;
}

/**
 * What a view is made of, before its bounds. A reader need not read what no view shows: of the history and of the artifacts
 * the newest, as far as `BOUNDS` counts them, and their content only as far as `prefixWithin` lets it.
 */
export interface UnboundedTask {
  readonly tenantId: string;
  readonly taskId: string;
  readonly state: TaskState;
  readonly statusMessage?: SizedMessage;
  /** Oldest first, without the status message. */
  readonly history: readonly SizedMessage[];
  /** How many there are, whatever was read. */
  readonly historyCount: number;
  /** In the order in which they were started. */
  readonly artifacts: readonly SizedArtifact[];
  readonly artifactCount: number;
}

/** What a wire adds at most around a part, a message or an artifact, and to a task beside them. */
const PART_OVERHEAD = 128;
const PIECE_OVERHEAD = 128;
const TASK_OVERHEAD = 4_096;
/** A status message leaves this much of a task to the placeholders of everything else. */
const PLACEHOLDER_BYTES = 256 * 1024;

/**
 * A task within the bounds of one answer (design section 6). It loses its oldest history first, then the parts of its last
 * artifacts, each of which has one placeholder part instead that names where the parts are; `truncated` counts what was
 * left out. Sizes are upper bounds of every wire, so that all versions show the same. What `historyLength` leaves out is
 * the client's wish and not counted.
 */
export function boundView(task: UnboundedTask, historyLength = Infinity): TaskView {
  const { tenantId, taskId, state } = task;
  const ids = encodedBytes([state.contextId, taskId]);
  const status = boundStatus(task, ids);
  const artifacts = boundArtifacts(task);
  let room = BOUNDS.taskBytes - TASK_OVERHEAD - ids - status.size;
  for (const artifact of artifacts) room -= artifact.size;
  // Artifacts lose parts only when no history is left.
  const forHistory = countWithin(newestArtifacts(task), BOUNDS.taskBytes) < artifacts.length ? -1 : room;
  const { history, unreadable, leftOut } = newestHistory(task, historyLength, { ids, room: forHistory });
  for (let at = artifacts.length - 1; at >= 0 && room < 0; at -= 1) {
    const { view, size, leftOut: parts } = artifacts[at]!;
    const replaced = withoutParts(taskId, view.artifactId, view.parts.length + Math.max(0, parts - 1));
    artifacts[at] = replaced;
    room += size - replaced.size;
  }
  const truncated = counted({
    history: leftOut,
    artifacts: task.artifactCount - artifacts.length,
    parts: artifacts.reduce((sum, artifact) => sum + artifact.leftOut, 0),
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

/** An upper bound of the bytes that a view takes in an answer, whatever the wire. */
export function viewBytes({ taskId, state, statusMessage, history, artifacts }: TaskView): number {
  const ids = encodedBytes([state.contextId, taskId]);
  const said = statusMessage === undefined ? history : [...history, statusMessage];
  const sizes = [...said.map((message) => sizeOf(message, ids)), ...artifacts.map((artifact) => sizeOf(artifact, 0))];
  return sizes.reduce((sum, size) => sum + size, TASK_OVERHEAD / 4 + ids);
}

/** How many of these pieces, from the first on, fit into a number of bytes: all that anyone needs to read of them. */
export function countWithin(pieces: readonly { readonly bytes: number }[], bytes: number): number {
  let sum = 0;
  const over = pieces.findIndex((piece) => (sum += piece.bytes) > bytes);
  return over < 0 ? pieces.length : over;
}

function boundStatus({ taskId, statusMessage }: UnboundedTask, ids: number) {
  const none = { message: undefined, size: 0, tooLarge: false };
  if (statusMessage === undefined) return none;
  const { messageId, role, bytes, message } = statusMessage;
  const limit = BOUNDS.taskBytes - PLACEHOLDER_BYTES;
  if (bytes <= limit) {
    if (message === null) return none;
    const size = sizeOf(message, ids);
    if (size <= limit) return { message, size, tooLarge: false };
  }
  const short: Message = { messageId, role, parts: [placeholder('too-large', messagesPath(taskId))] };
  return { message: short, size: sizeOf(short, ids), tooLarge: true };
}

/** The newest messages that there is room for, oldest first. */
function newestHistory(task: UnboundedTask, historyLength: number, { ids, room }: { ids: number; room: number }) {
  let agentMessages = 0;
  const wanted = [...task.history]
    .reverse()
    .filter(({ role }) => role === 'user' || ++agentMessages <= BOUNDS.agentMessages)
    .slice(0, historyLength);
  const history: Message[] = [];
  let unreadable = 0;
  for (const { message } of wanted.slice(0, countWithin(wanted, BOUNDS.taskBytes))) {
    if (message === null) unreadable += 1;
    else {
      room -= sizeOf(message, ids);
      if (room < 0) break;
      history.push(message);
    }
  }
  const leftOut = Math.min(historyLength, task.historyCount) - history.length - unreadable;
  return { history: history.reverse(), unreadable, leftOut };
}

interface BoundArtifact {
  readonly view: ArtifactView;
  readonly size: number;
  /** Parts that the view does not show. */
  readonly leftOut: number;
}

const newestArtifacts = ({ artifacts }: UnboundedTask) => artifacts.slice(-BOUNDS.taskArtifacts);

function boundArtifacts(task: UnboundedTask): BoundArtifact[] {
  const { taskId } = task;
  const shown = newestArtifacts(task);
  const readable = countWithin(shown, BOUNDS.taskBytes);
  return shown.map(({ artifactId, artifact, parts, missing }, at) => {
    if (at >= readable) return withoutParts(taskId, artifactId, parts);
    const path = partsPath(taskId, artifactId);
    if (artifact.parts.length === 0) {
      return measured({ artifactId, ...artifact, parts: [placeholder(missing ?? 'erased', path)] }, 0);
    }
    if (artifact.parts.length <= BOUNDS.artifactParts) return measured({ artifactId, ...artifact }, 0);
    const kept = BOUNDS.artifactParts - 1;
    const leftOut = artifact.parts.length - kept;
    const cut = [...artifact.parts.slice(0, kept), placeholder('too-large', path, leftOut)];
    return measured({ artifactId, ...artifact, parts: cut }, leftOut);
  });
}

const withoutParts = (taskId: string, artifactId: string, parts: number): BoundArtifact =>
  measured({ artifactId, parts: [placeholder('too-large', partsPath(taskId, artifactId), parts)] }, parts);

const measured = (view: ArtifactView, leftOut: number): BoundArtifact => ({ view, size: sizeOf(view, 0), leftOut });

const sizeOf = (piece: { readonly parts: readonly Part[] }, ids: number): number =>
  encodedBytes(piece) + ids + PIECE_OVERHEAD + PART_OVERHEAD * piece.parts.length;

const partsPath = (taskId: string, artifactId: string): string =>
  `/api/tasks/${encodeURIComponent(taskId)}/deliveries/${encodeURIComponent(artifactId)}/parts`;

const messagesPath = (taskId: string): string => `/api/tasks/${encodeURIComponent(taskId)}/messages`;

/** Stands for parts that an answer does not have: it says why, how many if that is known, and where they are. */
function placeholder(reason: MissingContent | 'too-large', path: string, parts?: number): Part {
  const said: JsonObject = parts === undefined ? { reason, path } : { reason, path, parts };
  return { data: said, metadata: { 'acta/placeholder': true } };
}

/** What stands for a message whose content was erased. */
export const erasedMessage = (taskId: string, messageId: string, role: Message['role']): Message => ({
  messageId,
  role,
  parts: [placeholder('erased', messagesPath(taskId))],
});

/** An artifact chunk as a stream shows it: never without parts. */
export const chunkToShow = (
  taskId: string,
  artifactId: string,
  chunk: ArtifactContent | undefined,
  missing: MissingContent = 'erased',
): ArtifactContent => chunk ?? { parts: [placeholder(missing, partsPath(taskId, artifactId))] };

function counted(counts: Record<string, number>): JsonObject | undefined {
  const some = Object.entries(counts).filter(([, count]) => count > 0);
  return some.length === 0 ? undefined : Object.fromEntries(some);
}
