import type { ArtifactContent, Message } from '../content.js';
import type { MessageRequest } from '../message-request.js';
import { derivedId, isPrintableId } from '../ids.js';
import { evolve } from '../task/task.evolve.js';
import type { TaskState } from '../task/task.state.js';
import { messagePlaceholder, type MissingContent } from './placeholder.js';
import { requestOfEvent } from './request-of-event.js';
import type { RecordedEvent, TaskView } from './task.view.js';
import { boundView, type SizedArtifact, type SizedMessage } from './view-bounds.js';

interface RunArtifact extends SizedArtifact {
  readonly runId: string;
}

interface VersionedMessage extends SizedMessage {
  readonly version: number;
}

/**
 * A task folded from its events alone, for live streams, blocking sends and reads of an earlier version. The read models return the same view
 * from their pointers; a test compares the two.
 */
export class TaskFold {
  state: TaskState | null = null;
  private readonly sizedMessages: VersionedMessage[] = [];
  private artifacts: RunArtifact[] = [];

  constructor(
    readonly tenantId: string,
    readonly taskId: string,
  ) {}

  /** Adds the next event, and ignores an event that was added before. Throws if events between are missing. */
  add(event: RecordedEvent): this {
    const version = this.state?.version ?? 0;
    if (event.version <= version) return this;
    if (event.version !== version + 1) {
      throw new Error(`event ${event.version} of task ${this.taskId} was added after event ${version}`);
    }
    this.state = evolve(this.state, event, event);
    const message = messageOfEvent(this.taskId, event);
    if (message !== null) this.sizedMessages.push({ version: event.version, ...message });
    if (event.type === 'ArtifactPublished') this.addChunk(event);
    if (event.type === 'RunLost') this.artifacts = this.artifacts.filter(({ runId }) => runId !== event.facts.runId);
    return this;
  }

  /** Returns all messages that can be read, oldest first, without bounds. */
  messages(): ConversationMessage[] {
    return conversationOf(this.sizedMessages);
  }

  /** Returns the task within the bounds of a response. */
  view(historyLength?: number): TaskView {
    const { tenantId, taskId, state, sizedMessages } = this;
    if (state === null) throw new Error(`task ${taskId} has no events`);
    const statusMessage = sizedMessages.find(({ version }) => version === state.statusMessage);
    const history = sizedMessages.filter((message) => message !== statusMessage);
    const artifacts = this.currentArtifacts();
    return boundView(
      {
        tenantId,
        taskId,
        state: withUsableContext(tenantId, taskId, state),
        ...(statusMessage === undefined ? {} : { statusMessage }),
        history,
        historyCount: history.length,
        artifacts,
        artifactCount: artifacts.length,
      },
      historyLength,
    );
  }

  private addChunk(event: Extract<RecordedEvent, { type: 'ArtifactPublished' }>): void {
    const { runId, artifactId, append, parts, bytes } = event.facts;
    const started = { runId, artifactId, parts: 0, bytes: 0, artifact: { parts: [] } };
    const index = this.artifacts.findIndex((other) => other.runId === runId && other.artifactId === artifactId);
    const before = append && index >= 0 ? this.artifacts[index]! : started;
    const joined: RunArtifact = {
      ...before,
      parts: before.parts + parts,
      bytes: before.bytes + bytes,
      ...appendChunk(before, event.content?.artifact, event.missing),
    };
    if (before !== started) this.artifacts[index] = joined;
    else {
      if (index >= 0) this.artifacts.splice(index, 1);
      this.artifacts.push(joined);
    }
  }

  /** Returns the last started artifact of each id, in the order in which they were started. */
  private currentArtifacts(): RunArtifact[] {
    return this.artifacts.filter(
      ({ artifactId }, index) => !this.artifacts.slice(index + 1).some((later) => later.artifactId === artifactId),
    );
  }
}

/** Returns the message in an event: null if it has none, a placeholder if it was erased. */
export function messageOfEvent(taskId: string, event: RecordedEvent): SizedMessage | null {
  const { facts, content, missing } = event;
  if (!('messageId' in facts) || facts.messageId === undefined) return null;
  const { messageId, bytes = 0 } = facts;
  const request = requestOfEvent(event);
  const ids = { messageId, role: event.type === 'MessageAccepted' ? ('user' as const) : ('agent' as const) };
  const erased = missing === 'unreadable' ? null : messagePlaceholder(taskId, ids, 'erased');
  return { ...ids, bytes, message: content?.message ?? erased, ...(request === undefined ? {} : { request }) };
}

/** A message as an agent receives it, with the request that brought it. Messages of the agent have none. */
export interface ConversationMessage {
  readonly message: Message;
  readonly request?: MessageRequest;
}

/** Returns the messages that can be read. */
export const conversationOf = (messages: readonly SizedMessage[]): ConversationMessage[] =>
  messages.flatMap(({ message, request }) =>
    message === null ? [] : [request === undefined ? { message } : { message, request }],
  );

/** Returns an artifact with one more chunk, if the chunk can be read. */
export function appendChunk(
  { artifact, missing }: Pick<SizedArtifact, 'artifact' | 'missing'>,
  chunk: ArtifactContent | undefined,
  missingChunk: MissingContent = 'erased',
): Pick<SizedArtifact, 'artifact' | 'missing'> {
  if (chunk === undefined) return { artifact, missing: missingChunk };
  return { artifact: joinChunks(artifact, chunk), ...(missing === undefined ? {} : { missing }) };
}

/**
 * Joins a chunk to an artifact. Plain text after plain text becomes one part, so that a text that streamed as many chunks is
 * one text. Later names and descriptions replace earlier ones.
 */
function joinChunks(artifact: ArtifactContent, chunk: ArtifactContent): ArtifactContent {
  const parts = [...artifact.parts];
  for (const part of chunk.parts) {
    const last = parts.at(-1);
    if (isPlainText(part) && last !== undefined && isPlainText(last)) {
      parts[parts.length - 1] = { text: last.text + part.text };
    } else {
      parts.push(part);
    }
  }
  return { ...artifact, ...chunk, parts };
}

const isPlainText = (part: ArtifactContent['parts'][number]): part is { text: string } =>
  part.text !== undefined && Object.keys(part).length === 1;

/** Returns the state with a context id that clients can send: an unusable stored one is replaced by one derived from the task. */
export function withUsableContext(tenantId: string, taskId: string, state: TaskState): TaskState {
  return isPrintableId(state.contextId)
    ? state
    : { ...state, contextId: derivedId('context', tenantId, state.owner, taskId) };
}
