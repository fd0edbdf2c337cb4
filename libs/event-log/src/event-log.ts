import { EVENT_SCHEMA_VERSION, eventIdOf, evolve, isUuid, type RecordedEvent, type TaskState } from '@app/domain';
import {
  ContentCipher,
  Database,
  EventDecoder,
  type Executor,
  ServerSecret,
  SQL_STATE,
  sqlStateOf,
  type StoredEvent,
  type TaskHead,
  type TaskKey,
  WebhookCipher,
} from '@app/storage';
import { Injectable } from '@nestjs/common';
import type { Append, AppendResult, Receipt } from './append.js';
import { type AppendedRow, appendValues } from './append.statement.js';
import { APPEND_ONE, AppendBatches } from './append-batches.js';
import { COMMAND_OF_EVENT, LOAD_HEAD, READ_FACTS, READ_STREAM } from './event-log.statements.js';
import { eventHash, GENESIS_HASH } from './hash-chain.js';

const FACTS_PAGE_SIZE = 1_000;

/** The append-only event log. Nothing else writes events. */
@Injectable()
export class EventLog {
  private readonly cipher: ContentCipher;
  private readonly webhooks: WebhookCipher;
  private readonly batches: AppendBatches;

  constructor(
    private readonly database: Database,
    secret: ServerSecret,
    private readonly decoder: EventDecoder = new EventDecoder(secret),
  ) {
    this.cipher = new ContentCipher(secret);
    this.webhooks = new WebhookCipher(secret);
    this.batches = new AppendBatches(database);
  }

  /**
   * Appends events to one stream and updates its read models, in one atomic statement. Every expected outcome is a
   * result. Throws only if the database is unavailable or broken.
   */
  async append(append: Append, executor?: Executor): Promise<AppendResult> {
    const { tenantId, taskId, head, state } = append;
    const expected = head?.state.version ?? 0;
    const key = head === null ? this.cipher.newKey(tenantId, taskId) : head.key;
    const encoded = this.encodeEvents(append, key, expected);
    const hash = encoded.hashes.at(-1)!;
    const { webhookRows } = append;
    const values = appendValues({
      append,
      expected,
      wrappedKey: head === null ? key!.wrapped : null,
      epoch: this.database.epoch,
      ...encoded,
      pushes: webhookRows === undefined ? null : JSON.stringify(this.webhooks.encryptRows(webhookRows, key, append)),
    });
    try {
      const row =
        executor === undefined
          ? await this.batches.append(`${tenantId}\n${taskId}`, values)
          : (await this.database.run<AppendedRow>(APPEND_ONE, values, executor))[0]!;
      if (row.outcome === 'fenced') return { outcome: 'fenced' };
      if (row.outcome === 'received') {
        return { outcome: 'received', receipt: { taskId: row.receipt_task!, fingerprint: row.receipt_fingerprint! } };
      }
      const events = append.events.map((event, index) => ({
        ...event,
        version: expected + index + 1,
        recordedAt: append.recordedAt,
      }));
      return { outcome: 'appended', head: { state, hash, key }, events };
    } catch (error) {
      const sqlState = sqlStateOf(error);
      const { constraint } = error as { constraint?: string };
      if (sqlState === SQL_STATE.uniqueViolation && constraint === 'event_id' && executor === undefined) {
        return { outcome: 'recorded', fingerprint: await this.fingerprintOf(tenantId, encoded.ids[0]!) };
      }
      if (sqlState === SQL_STATE.versionConflict || sqlState === SQL_STATE.uniqueViolation)
        return { outcome: 'conflict' };
      if (sqlState === SQL_STATE.contextRingMismatch) return { outcome: 'other-ring' };
      throw error;
    }
  }

  /**
   * Returns the head of a stream, and the receipt of a caller's message if there is one. Null if the stream does not
   * exist. A text that is not a UUID in canonical form is the id of no stream.
   */
  async head(
    tenantId: string,
    taskId: string,
    message?: { readonly subject: string; readonly messageId: string },
    executor?: Executor,
  ): Promise<{ head: TaskHead; receipt: Receipt | null } | null> {
    if (!isUuid(taskId)) return null;
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
      head: this.decoder.decodeHead(tenantId, taskId, row),
      receipt: receiptTask === null || fingerprint === null ? null : { taskId: receiptTask, fingerprint },
    };
  }

  /** Returns at most `limit` events of one stream after a version, in order and decrypted. */
  async read(tenantId: string, taskId: string, after: number, limit: number): Promise<RecordedEvent[]> {
    return (await this.readStored(tenantId, taskId, after, limit)).map(({ event, key }) =>
      this.decoder.decode(event, key),
    );
  }

  /** Returns the same events in their stored form, with the key of their content. */
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
    const key = this.decoder.unwrapKey(tenantId, taskId, rows[0]?.wrapped_key ?? null);
    return rows.map((event) => {
      delete event.wrapped_key;
      return { event, key };
    });
  }

  /**
   * Returns the state of a stream as of a version: the fold of its facts, which are read in pages. It starts at the
   * state `from`, if given. Null if the stream does not have the version.
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
      >(READ_FACTS, [tenantId, taskId, after, version, FACTS_PAGE_SIZE]);
      if (rows.length === 0) return null;
      for (const row of rows) {
        const event = this.decoder.decode({ ...row, content: null }, null);
        state = evolve(state, event, event);
      }
    }
    return state;
  }

  /** Returns the fingerprint of the command whose first event has this id. */
  private async fingerprintOf(tenantId: string, eventId: string): Promise<Buffer> {
    const [row] = await this.database.run<{ command_fingerprint: Buffer }>(COMMAND_OF_EVENT, [tenantId, eventId]);
    return row?.command_fingerprint ?? Buffer.alloc(0);
  }

  /** Returns the columns of the new events: ids, facts, encrypted contents and chained hashes. */
  private encodeEvents(append: Append, key: TaskKey | null, expected: number) {
    const { tenantId, taskId, commandId } = append;
    const ids: string[] = [];
    const facts: string[] = [];
    const contents: (Buffer | null)[] = [];
    const hashes: Buffer[] = [];
    let previous = append.head?.hash ?? GENESIS_HASH;
    append.events.forEach((event, index) => {
      const eventId = eventIdOf(tenantId, taskId, commandId, index);
      const factsText = JSON.stringify(event.facts);
      // An erased task has no key, so only the facts of its later events are stored.
      const content =
        event.content === undefined || key === null ? null : this.cipher.encrypt(key, eventId, event.content);
      previous = eventHash(previous, {
        tenantId,
        taskId,
        version: expected + index + 1,
        eventId,
        type: event.type,
        schemaVersion: EVENT_SCHEMA_VERSION,
        facts: factsText,
        content,
        actorSubject: append.actor.subject,
        actorRole: append.actor.role,
        commandId,
        commandFingerprint: append.fingerprint,
        causationId: append.causationId ?? null,
        correlationId: append.state.contextId,
        protocolVersion: append.protocolVersion ?? null,
        traceParent: append.trace?.parent ?? null,
        traceState: append.trace?.state ?? null,
        recordedAt: append.recordedAt,
      });
      ids.push(eventId);
      facts.push(factsText);
      contents.push(content);
      hashes.push(previous);
    });
    return { ids, facts, contents, hashes };
  }
}
