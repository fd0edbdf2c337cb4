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

/** The number of events whose content could not be shown, by reason. */
export type SkippedContent = Record<'corrupt' | 'malformed' | 'too-deep' | 'too-large' | 'invalid-context', number>;

/** The end of a stream: what the next append to it needs. */
export interface TaskHead {
  readonly state: TaskState;
  readonly hash: Buffer;
  /** Null once the task's content has been erased. */
  readonly key: TaskKey | null;
}

/**
 * Turns stored rows into events, states and keys. Corrupt content is skipped and counted, so that the rest can be
 * shown.
 */
export class EventDecoder {
  /** Exposed by `/metrics`. Each count is content that was changed after it was recorded. */
  readonly skippedContent: SkippedContent = {
    corrupt: 0,
    malformed: 0,
    'too-deep': 0,
    'too-large': 0,
    'invalid-context': 0,
  };
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

  /** Returns the head of a stream from its task row and its key. */
  decodeHead(
    tenantId: string,
    taskId: string,
    row: { state: TaskState; head_hash: Buffer; wrapped_key: Buffer | null },
  ): TaskHead {
    return {
      state: this.decodeState(tenantId, taskId, row.state),
      hash: row.head_hash,
      key: this.unwrapKey(tenantId, taskId, row.wrapped_key),
    };
  }

  /** Returns the stored state of a task. An unusable context id is replaced. */
  decodeState(tenantId: string, taskId: string, stored: TaskState): TaskState {
    const state = withUsableContext(tenantId, taskId, stored);
    if (state !== stored) this.skippedContent['invalid-context'] += 1;
    return state;
  }

  /** Returns null if the key was destroyed, or if this server's secret did not wrap it. */
  unwrapKey(tenantId: string, taskId: string, wrapped: Buffer | null): TaskKey | null {
    try {
      return wrapped === null ? null : this.cipher.unwrap(tenantId, taskId, wrapped);
    } catch {
      this.skippedContent.corrupt += 1;
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
      this.skippedContent[reason] += 1;
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
