import type { ArtifactContent, JsonObject, Message } from './content.js';
import type { EventPlace, TaskEvent } from './task.events.js';
import { evolve, isTerminal, type TaskState } from './task.state.js';

/** One artifact as it stands: the chunks of the run that published it last, joined. */
export interface ArtifactView extends ArtifactContent {
  readonly artifactId: string;
}

/** A task as a caller sees it, before any wire. */
export interface TaskView {
  readonly tenantId: string;
  readonly taskId: string;
  readonly state: TaskState;
  readonly statusMessage?: Message;
  /** Oldest first, without the status message. */
  readonly history: readonly Message[];
  readonly artifacts: readonly ArtifactView[];
  /** What the bounds left out, in the words of `metadata["acta/truncated"]`; absent when nothing was. */
  readonly truncated?: JsonObject;
}

/** An event in its place, its content readable. */
export type RecordedEvent = TaskEvent & EventPlace;

interface Published {
  readonly runId: string;
  readonly artifactId: string;
  readonly startedAt: number;
  readonly artifact: ArtifactContent;
}

interface Said {
  readonly version: number;
  readonly message: Message;
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
    if (event.content?.message !== undefined)
      this.said.push({ version: event.version, message: event.content.message });
    if (event.type === 'ArtifactPublished') this.publish(event);
    if (event.type === 'RunLost') this.published = this.published.filter((p) => p.runId !== event.facts.runId);
    return this;
  }

  view(): TaskView {
    const { state } = this;
    if (state === null) throw new Error(`task ${this.taskId} has no events`);
    const statusMessage = this.said.find((s) => s.version === state.statusMessage)?.message;
    return {
      tenantId: this.tenantId,
      taskId: this.taskId,
      state,
      ...(statusMessage === undefined ? {} : { statusMessage }),
      history: this.said.filter((s) => s.version !== state.statusMessage).map((s) => s.message),
      artifacts: this.newest().map(({ artifactId, artifact }) => ({ artifactId, ...artifact })),
    };
  }

  private publish(event: Extract<RecordedEvent, { type: 'ArtifactPublished' }>): void {
    const { runId, artifactId, append } = event.facts;
    const chunk = event.content?.artifact ?? { parts: [] };
    const at = this.published.findIndex((p) => p.runId === runId && p.artifactId === artifactId);
    const before = this.published[at];
    if (append && before !== undefined) {
      this.published[at] = { ...before, artifact: joinChunks(before.artifact, chunk) };
      return;
    }
    if (at >= 0) this.published.splice(at, 1);
    this.published.push({ runId, artifactId, startedAt: event.version, artifact: chunk });
  }

  /** Of each artifact id the one that was started last, in the order in which they were started. */
  private newest(): Published[] {
    return this.published.filter((p, at) => !this.published.slice(at + 1).some((q) => q.artifactId === p.artifactId));
  }
}

/**
 * An artifact with one more chunk. Plain text that goes on plain text becomes one part, so that a text which streamed
 * as many chunks is one text; later names and descriptions replace earlier ones.
 */
export function joinChunks(artifact: ArtifactContent, chunk: ArtifactContent): ArtifactContent {
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

/** Whether whoever waits for an outcome has one: the task ended or asks for something. */
export const hasOutcome = (state: TaskState): boolean =>
  isTerminal(state.status) || state.status === 'input-required' || state.status === 'auth-required';

/**
 * Whether the task may still end in a bare reply, which is no task for its client: until that is settled, nothing of it is
 * sent on a stream.
 */
export const mayReply = (state: TaskState): boolean => !state.answered && !hasOutcome(state);
