import type { ArtifactContent, Message } from '../content.js';
import { contextIdOf, isPrintableId } from '../ids.js';
import { evolve, type TaskState } from '../task/task.state.js';
import type { MissingContent, RecordedEvent, TaskView } from './task.view.js';
import { boundView, erasedMessage, type SizedArtifact, type SizedMessage } from './view-bounds.js';

interface Published extends SizedArtifact {
  readonly runId: string;
}

interface Said extends SizedMessage {
  readonly version: number;
}

/**
 * A task folded from its events alone: live streams, blocking sends and time travel use it. The read models give the
 * same view from their pointers; a test holds the two together.
 */
export class TaskFold {
  state: TaskState | null = null;
  private readonly said: Said[] = [];
  private published: Published[] = [];

  constructor(
    readonly tenantId: string,
    readonly taskId: string,
  ) {}

  /** Adds the next event; one that the fold has already is passed over. Throws on a gap. */
  add(event: RecordedEvent): this {
    const version = this.state?.version ?? 0;
    if (event.version <= version) return this;
    if (event.version !== version + 1) throw new Error(`event ${event.version} follows ${version}`);
    this.state = evolve(this.state, event, event);
    const said = messageOfEvent(this.taskId, event);
    if (said !== null) this.said.push({ version: event.version, ...said });
    if (event.type === 'ArtifactPublished') this.publish(event);
    if (event.type === 'RunLost') this.published = this.published.filter((p) => p.runId !== event.facts.runId);
    return this;
  }

  /** Everything that was said and can be read, oldest first, without bounds. */
  messages(): Message[] {
    return this.said.flatMap(({ message }) => message ?? []);
  }

  /** The task within the bounds of an answer. */
  view(historyLength?: number): TaskView {
    const { tenantId, taskId, state } = this;
    if (state === null) throw new Error(`task ${taskId} has no events`);
    const statusMessage = this.said.find((said) => said.version === state.statusMessage);
    const history = statusMessage === undefined ? this.said : this.said.filter((said) => said !== statusMessage);
    const artifacts = this.newest();
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

  private publish(event: Extract<RecordedEvent, { type: 'ArtifactPublished' }>): void {
    const { runId, artifactId, append, parts, bytes } = event.facts;
    const started = { runId, artifactId, parts: 0, bytes: 0, artifact: { parts: [] } };
    const at = this.published.findIndex((p) => p.runId === runId && p.artifactId === artifactId);
    const before = append && at >= 0 ? this.published[at]! : started;
    const joined: Published = {
      ...before,
      parts: before.parts + parts,
      bytes: before.bytes + bytes,
      ...appendChunk(before, event.content?.artifact, event.missing),
    };
    if (before !== started) this.published[at] = joined;
    else {
      if (at >= 0) this.published.splice(at, 1);
      this.published.push(joined);
    }
  }

  /** Of each artifact id the one that was started last, in the order in which they were started. */
  private newest(): Published[] {
    return this.published.filter((p, at) => !this.published.slice(at + 1).some((q) => q.artifactId === p.artifactId));
  }
}

/** The message in an event: null when it has none, a placeholder when it was erased. */
export function messageOfEvent(taskId: string, event: RecordedEvent): SizedMessage | null {
  const { facts, content, missing } = event;
  if (!('messageId' in facts) || facts.messageId === undefined) return null;
  const role = event.type === 'MessageAccepted' ? 'user' : 'agent';
  const { messageId, bytes = 0 } = facts;
  const erased = missing === 'unreadable' ? null : erasedMessage(taskId, messageId, role);
  return { messageId, role, bytes, message: content?.message ?? erased };
}

/** An artifact with one more chunk, as far as the chunk can be read. */
export function appendChunk(
  { artifact, missing }: Pick<SizedArtifact, 'artifact' | 'missing'>,
  chunk: ArtifactContent | undefined,
  missingChunk: MissingContent = 'erased',
): Pick<SizedArtifact, 'artifact' | 'missing'> {
  if (chunk === undefined) return { artifact, missing: missingChunk };
  return { artifact: joinChunks(artifact, chunk), ...(missing === undefined ? {} : { missing }) };
}

/**
 * An artifact with one more chunk. Plain text that goes on plain text becomes one part, so that a text which streamed
 * as many chunks is one text; later names and descriptions replace earlier ones.
 */
function joinChunks(artifact: ArtifactContent, chunk: ArtifactContent): ArtifactContent {
  const parts = [...artifact.parts];
  for (const part of chunk.parts) {
    const last = parts.at(-1);
    if (isPlainText(part) && last !== undefined && isPlainText(last))
      parts[parts.length - 1] = { text: last.text + part.text };
    else parts.push(part);
  }
  return { ...artifact, ...chunk, parts };
}

const isPlainText = (part: ArtifactContent['parts'][number]): part is { text: string } =>
  part.text !== undefined && Object.keys(part).length === 1;

/** A stored context id that no client could send is answered with one that the task derives. */
export function withUsableContext(tenantId: string, taskId: string, state: TaskState): TaskState {
  return isPrintableId(state.contextId) ? state : { ...state, contextId: contextIdOf(tenantId, state.owner, taskId) };
}
