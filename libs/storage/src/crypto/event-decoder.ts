import {
  contentProblem,
  type EventContent,
  isKnownSchema,
  type MissingContent,
  type RecordedEvent,
  type TaskEventType,
  type TaskState,
  type TraceContext,
  upcast,
  withUsableContext,
} from '@app/domain';
import type { StoredEvent } from '../postgres/schema.js';
import { ContentCipher, type TaskKey } from './content-cipher.js';
import type { ServerSecret } from './server-secret.js';

/**
 * The number of events whose content could not be shown, by reason. `unknown-key`: a different secret wrapped the key of the
 * task. `newer-schema`: a newer version of Acta recorded the event.
 */
export type SkippedContent = Record<
  'corrupt' | 'malformed' | 'too-deep' | 'too-large' | 'invalid-context' | 'unknown-key' | 'newer-schema',
  number
>;

/** The columns of `task_key`, which are null if the task has no key. */
export interface WrappedKeyColumns {
  readonly wrapped_key: Buffer | null;
  readonly key_id: string | null;
}

/** The columns of an event that `decode` reads, for a statement in which the table `event` has the alias `e`. */
export const DECODED_COLUMNS = `e.version, e.event_id, e.type, e.schema_version, e.facts::text as facts, e.content,
    e.protocol_version, e.trace_parent, e.trace_state, e.recorded_at`;

export type DecodedColumns = Pick<
  StoredEvent,
  | 'event_id'
  | 'type'
  | 'schema_version'
  | 'facts'
  | 'content'
  | 'version'
  | 'protocol_version'
  | 'trace_parent'
  | 'trace_state'
  | 'recorded_at'
>;

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
  /** Exposed by `/metrics`. */
  readonly skippedContent: SkippedContent = {
    corrupt: 0,
    malformed: 0,
    'too-deep': 0,
    'too-large': 0,
    'invalid-context': 0,
    'unknown-key': 0,
    'newer-schema': 0,
  };
  private readonly cipher: ContentCipher;

  constructor(secret: ServerSecret) {
    this.cipher = new ContentCipher(secret);
  }

  /**
   * Returns a stored event with its facts in the current schema and its content, or with the reason why the content is
   * `missing`. The facts of a newer schema are returned as stored, and their content counts as unreadable.
   */
  decode(stored: DecodedColumns, key: TaskKey | null): RecordedEvent {
    const { event_id: eventId, schema_version: schemaVersion, protocol_version: protocolVersion } = stored;
    const type = stored.type as TaskEventType;
    const isKnown = isKnownSchema(type, schemaVersion);
    const facts = JSON.parse(stored.facts) as object;
    return {
      type,
      facts: isKnown ? upcast(type, schemaVersion, facts) : facts,
      ...(isKnown ? this.contentOf(stored, key) : this.newerSchema()),
      version: stored.version,
      recordedAt: stored.recorded_at.toISOString(),
      eventId,
      ...(stored.trace_parent === null ? {} : { trace: traceOf(stored.trace_parent, stored.trace_state) }),
      ...(protocolVersion === null ? {} : { protocolVersion }),
    } as RecordedEvent;
  }

  /** Returns the head of a stream from its task row and its key. */
  decodeHead(
    tenantId: string,
    taskId: string,
    row: { state: TaskState; head_hash: Buffer } & WrappedKeyColumns,
  ): TaskHead {
    return {
      state: this.decodeState(tenantId, taskId, row.state),
      hash: row.head_hash,
      key: this.unwrapKey(tenantId, taskId, row),
    };
  }

  /** Returns the stored state of a task. An unusable context id is replaced. */
  decodeState(tenantId: string, taskId: string, stored: TaskState): TaskState {
    const state = withUsableContext(tenantId, taskId, stored);
    if (state !== stored) this.skippedContent['invalid-context'] += 1;
    return state;
  }

  /** Returns null if the key was destroyed, or if this server's secret did not wrap it. */
  unwrapKey(tenantId: string, taskId: string, columns: WrappedKeyColumns): TaskKey | null {
    const { wrapped_key: wrapped, key_id: keyId } = columns;
    if (wrapped === null || keyId === null) return null;
    try {
      const key = this.cipher.unwrap(tenantId, taskId, wrapped, keyId);
      if (key === null) this.skippedContent['unknown-key'] += 1;
      return key;
    } catch {
      this.skippedContent.corrupt += 1;
      return null;
    }
  }

  private contentOf(
    { event_id: eventId, content: stored }: Pick<StoredEvent, 'event_id' | 'content'>,
    key: TaskKey | null,
  ): { content?: EventContent; missing?: MissingContent } {
    if (stored === null) return {};
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

  private newerSchema(): Pick<RecordedEvent, 'missing' | 'newerSchema'> {
    this.skippedContent['newer-schema'] += 1;
    return { missing: 'unreadable', newerSchema: true };
  }
}

const traceOf = (parent: string, state: string | null): TraceContext => ({
  parent,
  ...(state === null ? {} : { state }),
});
