import {
  contentProblem,
  type EventContent,
  type MissingContent,
  type RecordedEvent,
  type TaskState,
  withUsableContext,
} from '@app/domain';
import type { StoredEvent } from '../postgres/schema.js';
import { ContentCipher, type TaskKey } from './content-cipher.js';
import type { ServerSecret } from './server-secret.js';

/** Counts stored content that could not be shown, by reason. */
export type SkippedContent = Record<'corrupt' | 'malformed' | 'too-deep' | 'too-large' | 'invalid-context', number>;

/** The end of a stream, on which the next append builds. */
export interface StreamHead {
  readonly state: TaskState;
  readonly hash: Buffer;
  /** Null once the task's content has been erased. */
  readonly key: TaskKey | null;
}

/** Turns stored rows into events, states and keys. Corrupt content is skipped and counted, because a read must show the rest. */
export class EventDecoder {
  /** Exposed by `/metrics`. Each count is content that was changed after it was recorded. */
  readonly skipped: SkippedContent = { corrupt: 0, malformed: 0, 'too-deep': 0, 'too-large': 0, 'invalid-context': 0 };
  private readonly cipher: ContentCipher;

  constructor(secret: ServerSecret) {
    this.cipher = new ContentCipher(secret);
  }

  /** Returns a stored event with its content, or with the reason why the content is `missing`. */
  decode(
    stored: Pick<StoredEvent, 'event_id' | 'type' | 'facts' | 'content' | 'version' | 'recorded_at'>,
    key: TaskKey | null,
  ): RecordedEvent {
    return {
      type: stored.type,
      facts: JSON.parse(stored.facts) as unknown,
      ...(stored.content === null ? {} : this.contentOf(stored.event_id, stored.content, key)),
      version: stored.version,
      recordedAt: stored.recorded_at.toISOString(),
    } as RecordedEvent;
  }

  headOf(
    tenantId: string,
    taskId: string,
    row: { state: TaskState; head_hash: Buffer; wrapped_key: Buffer | null },
  ): StreamHead {
    return {
      state: this.stateOf(tenantId, taskId, row.state),
      hash: row.head_hash,
      key: this.unwrap(tenantId, taskId, row.wrapped_key),
    };
  }

  /** Returns the stored state of a task. An unusable context id is replaced. */
  stateOf(tenantId: string, taskId: string, stored: TaskState): TaskState {
    const state = withUsableContext(tenantId, taskId, stored);
    if (state !== stored) this.skipped['invalid-context'] += 1;
    return state;
  }

  /** Returns null if the key was destroyed, or if this server's secret did not wrap it. */
  unwrap(tenantId: string, taskId: string, wrapped: Buffer | null): TaskKey | null {
    try {
      return wrapped === null ? null : this.cipher.unwrap(tenantId, taskId, wrapped);
    } catch {
      this.skipped.corrupt += 1;
      return null;
    }
  }

  private contentOf(
    eventId: string,
    stored: Buffer,
    key: TaskKey | null,
  ): { content: EventContent } | { missing: MissingContent } {
    if (key === null) return { missing: 'erased' };
    const skip = (reason: keyof SkippedContent): { missing: MissingContent } => {
      this.skipped[reason] += 1;
      return { missing: 'unreadable' };
    };
    let content: unknown;
    try {
      content = this.cipher.decrypt(key, eventId, stored);
    } catch {
      return skip('corrupt');
    }
    const problem = contentProblem(content);
    return problem === null ? { content: content as EventContent } : skip(problem);
  }
}
