import {
  contentProblem,
  EVENT_SCHEMA_VERSION,
  type EventContent,
  eventIdOf,
  evolve,
  type MissingContent,
  type RecordedEvent,
  type TaskState,
  withUsableContext,
} from '@app/domain';
import type { Append, AppendResult, Receipt, StreamHead } from './append.js';
import { APPEND_ONE, AppendBatches, type AppendedRow } from './append-batches.js';
import { ContentCipher, type TaskKey } from '../crypto/content-cipher.js';
import type { Database, Executor } from '../postgres/database.js';
import { COMMAND_OF_EVENT, LOAD_HEAD, READ_FACTS, READ_STREAM } from './event-log.statements.js';
import { eventHash, GENESIS_HASH } from './hash-chain.js';
import type { StoredEvent } from '../postgres/schema.js';
import type { ServerSecret } from '../crypto/server-secret.js';
import { WebhookCipher } from '../crypto/webhook-cipher.js';

const FACTS_PAGE = 1_000;

/** How often stored content was passed over, and why. */
export type SkippedContent = Record<'corrupt' | 'malformed' | 'too-deep' | 'too-large' | 'invalid-context', number>;

/** The append-only log of every stream. Nothing else writes events. */
export class EventLog {
  /** Counted for `/metrics`: each is a record that someone spoiled. */
  readonly skipped: SkippedContent = { corrupt: 0, malformed: 0, 'too-deep': 0, 'too-large': 0, 'invalid-context': 0 };
  /** Reads the targets of webhooks. */
  readonly webhooks: WebhookCipher;
  private readonly cipher: ContentCipher;
  private readonly batches: AppendBatches;

  constructor(
    readonly database: Database,
    secret: ServerSecret,
  ) {
    this.cipher = new ContentCipher(secret);
    this.webhooks = new WebhookCipher(secret);
    this.batches = new AppendBatches(database);
  }

  /**
   * Appends events to one stream together with everything that is read from them. One statement; atomic. What can
   * rightly happen is a result; what remains thrown is the database being unreachable or broken.
   */
  async append(append: Append, executor?: Executor): Promise<AppendResult> {
    const { tenantId, taskId, head, state, actor } = append;
    const expected = head?.state.version ?? 0;
    const key = head === null ? this.cipher.newKey(tenantId, taskId) : head.key;
    const sealed = this.seal(append, key, expected);
    const hash = sealed.hashes.at(-1)!;
    try {
      const values = [
        tenantId,
        taskId,
        expected,
        append.fence?.runId ?? null,
        append.fence?.leaseGeneration ?? null,
        append.fence?.dispatcherGeneration ?? null,
        append.receipt?.subject ?? null,
        append.receipt?.messageId ?? null,
        state.contextId,
        state.owner,
        state.ring,
        state.agent,
        head === null ? key!.wrapped : null,
        actor.subject,
        actor.role,
        append.commandId,
        append.fingerprint,
        append.causationId ?? null,
        append.protocolVersion ?? null,
        append.traceParent ?? null,
        append.recordedAt,
        this.database.epoch,
        EVENT_SCHEMA_VERSION,
        sealed.ids,
        append.events.map((event) => event.type),
        sealed.facts,
        sealed.contents,
        head?.hash ?? GENESIS_HASH,
        sealed.hashes,
        state.status,
        state.statusAt,
        JSON.stringify(state),
        JSON.stringify(append.rows),
        append.leaseMs,
        append.pushes === undefined ? null : JSON.stringify(this.webhooks.rows(append.pushes, key, append)),
      ];
      const row =
        executor === undefined
          ? await this.batches.append(`${tenantId}\n${taskId}`, values)
          : (await this.database.run<AppendedRow>(APPEND_ONE, values, executor))[0]!;
      if (row.outcome === 'fenced') return { outcome: 'fenced' };
      if (row.outcome === 'received') {
        return { outcome: 'received', receipt: { taskId: row.receipt_task!, fingerprint: row.receipt_fingerprint! } };
      }
      const events = append.events.map((event, at) => ({
        ...event,
        version: expected + at + 1,
        recordedAt: append.recordedAt,
      }));
      return { outcome: 'appended', head: { state, hash, key }, events };
    } catch (error) {
      const { code, constraint } = error as { code?: string; constraint?: string };
      if (code === '23505' && constraint === 'event_id' && executor === undefined) {
        return { outcome: 'recorded', fingerprint: await this.fingerprintOf(tenantId, sealed.ids[0]!) };
      }
      if (code === 'AC409' || code === '23505') return { outcome: 'conflict' };
      if (code === 'AC422') return { outcome: 'other-ring' };
      throw error;
    }
  }

  /** The head of a stream, and the receipt of a caller's message if it has one. Null when there is no such stream. */
  async head(
    tenantId: string,
    taskId: string,
    message?: { readonly subject: string; readonly messageId: string },
    executor?: Executor,
  ): Promise<{ head: StreamHead; receipt: Receipt | null } | null> {
    const [row] = await this.database.run<{
      state: TaskState;
      head_hash: Buffer;
      wrapped_key: Buffer | null;
      receipt_task: string | null;
      receipt_fingerprint: Buffer | null;
    }>(LOAD_HEAD, [tenantId, taskId, message?.subject ?? null, message?.messageId ?? null], executor);
    if (row === undefined) return null;
    const { receipt_task: receiptTask, receipt_fingerprint: fingerprint } = row;
    return {
      head: this.headOf(tenantId, taskId, row),
      receipt: receiptTask === null || fingerprint === null ? null : { taskId: receiptTask, fingerprint },
    };
  }

  /** A head from a row that someone read for it (the claim reads many at once). */
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

  /** Events of one stream after a version, in order, at most `limit`, their content readable. */
  async read(tenantId: string, taskId: string, after: number, limit: number): Promise<RecordedEvent[]> {
    return (await this.readStored(tenantId, taskId, after, limit)).map(({ event, key }) => this.open(event, key));
  }

  /** The same events as they are stored, with the key of their content. */
  async readStored(
    tenantId: string,
    taskId: string,
    after: number,
    limit: number,
  ): Promise<{ event: StoredEvent; key: TaskKey | null }[]> {
    const rows = await this.database.run<StoredEvent & { wrapped_key?: Buffer | null }>(READ_STREAM, [
      tenantId,
      taskId,
      after,
      limit,
    ]);
    const key = this.unwrap(tenantId, taskId, rows[0]?.wrapped_key ?? null);
    return rows.map((event) => {
      delete event.wrapped_key;
      return { event, key };
    });
  }

  /**
   * The state of a stream as of a version (time travel): the fold of its facts, read in pages, from an earlier state if
   * there is one. Null when the stream has no such version.
   */
  async stateAt(
    tenantId: string,
    taskId: string,
    version: number,
    from: TaskState | null = null,
  ): Promise<TaskState | null> {
    let state = from;
    while ((state?.version ?? 0) < version) {
      const after: number = state?.version ?? 0;
      const rows = await this.database.run<
        Pick<StoredEvent, 'event_id' | 'type' | 'facts' | 'version' | 'recorded_at'>
      >(READ_FACTS, [tenantId, taskId, after, version, FACTS_PAGE]);
      if (rows.length === 0) return null;
      for (const row of rows) {
        const event = this.open({ ...row, content: null }, null);
        state = evolve(state, event, event);
      }
    }
    return state;
  }

  /** A stored event with its content, or why it is `missing`: a record that someone spoiled still shows the rest of it. */
  open(
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

  /** The state of a task as stored; a context id that cannot be one is replaced. */
  stateOf(tenantId: string, taskId: string, stored: TaskState): TaskState {
    const state = withUsableContext(tenantId, taskId, stored);
    if (state !== stored) this.skipped['invalid-context'] += 1;
    return state;
  }

  /** Null when the key is gone, or is not one that this server's secret wrapped. */
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
    const skip = (why: keyof SkippedContent): { missing: MissingContent } => {
      this.skipped[why] += 1;
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

  /** Of the command whose first event has this id. */
  private async fingerprintOf(tenantId: string, eventId: string): Promise<Buffer> {
    const [row] = await this.database.run<{ command_fingerprint: Buffer }>(COMMAND_OF_EVENT, [tenantId, eventId]);
    return row?.command_fingerprint ?? Buffer.alloc(0);
  }

  private seal(append: Append, key: TaskKey | null, expected: number) {
    const { tenantId, taskId, commandId } = append;
    const ids: string[] = [];
    const facts: string[] = [];
    const contents: (Buffer | null)[] = [];
    const hashes: Buffer[] = [];
    let previous = append.head?.hash ?? GENESIS_HASH;
    append.events.forEach((event, at) => {
      const eventId = eventIdOf(tenantId, taskId, commandId, at);
      const text = JSON.stringify(event.facts);
      // What is said of a task whose content was erased is erased with it: the facts go on.
      const content =
        event.content === undefined || key === null ? null : this.cipher.encrypt(key, eventId, event.content);
      previous = eventHash(previous, {
        tenantId,
        taskId,
        version: expected + at + 1,
        eventId,
        type: event.type,
        schemaVersion: EVENT_SCHEMA_VERSION,
        facts: text,
        content,
        actorSubject: append.actor.subject,
        actorRole: append.actor.role,
        commandId,
        commandFingerprint: append.fingerprint,
        causationId: append.causationId ?? null,
        correlationId: append.state.contextId,
        protocolVersion: append.protocolVersion ?? null,
        traceParent: append.traceParent ?? null,
        recordedAt: append.recordedAt,
      });
      ids.push(eventId);
      facts.push(text);
      contents.push(content);
      hashes.push(previous);
    });
    return { ids, facts, contents, hashes };
  }
}
