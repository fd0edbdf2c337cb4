import { EVENT_SCHEMA_VERSION, eventIdOf, evolve, type RecordedEvent, type TaskState } from '@app/domain';
import {
  ContentCipher,
  type Database,
  EventDecoder,
  type Executor,
  type ServerSecret,
  type StoredEvent,
  type StreamHead,
  type TaskKey,
  WebhookCipher,
} from '@app/storage';
import type { Append, AppendResult, Receipt } from './append.js';
import { APPEND_ONE, AppendBatches, type AppendedRow } from './append-batches.js';
import { COMMAND_OF_EVENT, LOAD_HEAD, READ_FACTS, READ_STREAM } from './event-log.statements.js';
import { eventHash, GENESIS_HASH } from './hash-chain.js';

const FACTS_PAGE = 1_000;

/** The append-only log of every stream. Nothing else writes events. */
export class EventLog {
  private readonly cipher: ContentCipher;
  private readonly webhooks: WebhookCipher;
  private readonly batches: AppendBatches;

  constructor(
    private readonly database: Database,
    secret: ServerSecret,
    private readonly decoder = new EventDecoder(secret),
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
      head: this.decoder.headOf(tenantId, taskId, row),
      receipt: receiptTask === null || fingerprint === null ? null : { taskId: receiptTask, fingerprint },
    };
  }

  /** Events of one stream after a version, in order, at most `limit`, their content readable. */
  async read(tenantId: string, taskId: string, after: number, limit: number): Promise<RecordedEvent[]> {
    return (await this.readStored(tenantId, taskId, after, limit)).map(({ event, key }) => this.decoder.decode(event, key));
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
    const key = this.decoder.unwrap(tenantId, taskId, rows[0]?.wrapped_key ?? null);
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
        const event = this.decoder.decode({ ...row, content: null }, null);
        state = evolve(state, event, event);
      }
    }
    return state;
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
