import { EVENT_SCHEMA_VERSIONS, evolve, isUuid, type RecordedEvent, type TaskState } from '@app/domain';
import {
  ContentCipher,
  Database,
  type DecodedColumns,
  EventDecoder,
  type Executor,
  ServerSecret,
  type StoredEvent,
  type TaskHead,
  type TaskKey,
  WebhookCipher,
  type WrappedKeyColumns,
} from '@app/storage';
import { Injectable } from '@nestjs/common';
import type { Append, AppendResult, Receipt } from './append.js';
import { type AppendedRow, appendValues } from './append.statement.js';
import { APPEND_ONE, AppendBatches } from './append-batches.js';
import { LOAD_HEAD, LOAD_RECEIPT, READ_FACTS, READ_STREAM } from './event-log.statements.js';
import { eventHash, GENESIS_HASH, HASH_VERSION, packAppendColumns } from './hash-chain.js';

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
    const { tenantId, taskId, head, state, events } = append;
    const expected = head?.state.version ?? 0;
    const key = head === null ? this.cipher.newKey(tenantId, taskId) : head.key;
    const encoded = this.encodeEvents(append, key);
    const hash = encoded.hashes.at(-1)!;
    const { webhookRows } = append;
    const values = appendValues({
      append,
      expected,
      newKey: head === null ? key : null,
      epoch: this.database.epoch,
      ...encoded,
      pushes: webhookRows === undefined ? null : JSON.stringify(this.webhooks.encryptRows(webhookRows, key, append)),
    });
    const row =
      executor === undefined
        ? await this.batches.append({ ...lockKeysOf(append), values })
        : (await this.database.run<AppendedRow>(APPEND_ONE, values, executor))[0]!;
    switch (row.outcome) {
      case 'appended':
        return { outcome: 'appended', head: { state, hash, key }, events };
      case 'received':
        return { outcome: 'received', receipt: { taskId: row.receipt_task!, fingerprint: row.recorded_fingerprint! } };
      case 'recorded':
        return { outcome: 'recorded', fingerprint: row.recorded_fingerprint! };
      default:
        return { outcome: row.outcome };
    }
  }

  /**
   * Returns the head of a stream. Null if the stream does not exist. A text that is not a UUID in canonical form is the id of
   * no stream.
   */
  async head(tenantId: string, taskId: string, executor?: Executor): Promise<TaskHead | null> {
    if (!isUuid(taskId)) return null;
    const [row] = await this.database.run<{ state: TaskState; head_hash: Buffer } & WrappedKeyColumns>(
      LOAD_HEAD,
      [tenantId, taskId],
      executor,
    );
    return row === undefined ? null : this.decoder.decodeHead(tenantId, taskId, row);
  }

  /**
   * Returns the receipt of a caller's message, in whichever task it is. Null: the message was not received, or its agent
   * accepts repeated messages as new ones.
   */
  async receipt(tenantId: string, message: { subject: string; messageId: string }): Promise<Receipt | null> {
    const values = [tenantId, message.subject, message.messageId];
    const [row] = await this.database.run<ReceiptColumns>(LOAD_RECEIPT, values);
    return row === undefined ? null : { taskId: row.receipt_task, fingerprint: row.receipt_fingerprint };
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
    const rows = await this.database.run<StoredEvent & WrappedKeyColumns>(READ_STREAM, [
      tenantId,
      taskId,
      after,
      limit,
    ]);
    const [first] = rows;
    const key = first === undefined ? null : this.decoder.unwrapKey(tenantId, taskId, first);
    return rows.map(({ wrapped_key: _wrapped, key_id: _id, ...event }) => ({ event, key }));
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
      const values = [tenantId, taskId, after, version, FACTS_PAGE_SIZE];
      const rows = await this.database.run<DecodedColumns>(READ_FACTS, values);
      if (rows.length === 0) return null;
      for (const row of rows) {
        const event = this.decoder.decode(row, null);
        state = evolve(state, event, event);
      }
    }
    return state;
  }

  /** Returns the columns of the new events: facts, encrypted contents and chained hashes. */
  private encodeEvents(append: Append, key: TaskKey | null) {
    const { actor, trace, protocolVersion = null } = append;
    const packedAppend = packAppendColumns({
      tenantId: append.tenantId,
      taskId: append.taskId,
      actorSubject: actor.subject,
      actorRole: actor.role,
      commandId: append.commandId,
      commandFingerprint: append.fingerprint,
      correlationId: append.state.contextId,
      protocolVersion,
      traceParent: trace?.parent ?? null,
      traceState: trace?.state ?? null,
      recordedAt: append.recordedAt,
    });
    const facts: string[] = [];
    const contents: (Buffer | null)[] = [];
    const hashes: Buffer[] = [];
    let previous = append.head?.hash ?? GENESIS_HASH;
    append.events.forEach((event, index) => {
      const { eventId, type, version } = event;
      const factsText = JSON.stringify(event.facts);
      // An erased task has no key, so only the facts of its later events are stored.
      const content =
        event.content === undefined || key === null ? null : this.cipher.encrypt(key, eventId, event.content);
      previous = eventHash(HASH_VERSION, previous, packedAppend, {
        version,
        eventId,
        type,
        schemaVersion: EVENT_SCHEMA_VERSIONS[type],
        causationId: append.causes[index]!,
        facts: factsText,
        content,
      });
      facts.push(factsText);
      contents.push(content);
      hashes.push(previous);
    });
    return { facts, contents, hashes };
  }
}

/**
 * Returns the stream of an append, and its position in a batch. Existing streams come first, because a new task waits for nothing
 * but its context and its message. All batches lock contexts in one order, too.
 */
function lockKeysOf({ tenantId, taskId, head, state }: Append): { readonly stream: string; readonly position: string } {
  const stream = `${tenantId}\n${taskId}`;
  const position = head === null ? `1\n${tenantId}\n${state.owner}\n${state.contextId}\n${taskId}` : `0\n${stream}`;
  return { stream, position };
}

interface ReceiptColumns {
  receipt_task: string;
  receipt_fingerprint: Buffer;
}
