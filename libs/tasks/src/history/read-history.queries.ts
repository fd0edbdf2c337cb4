import type { Actor, EventContent, Message, Part, Principal, RecordedEvent } from '@app/domain';
import { EventLog } from '@app/event-log';
import { Database, EventDecoder, type StoredEvent, type TaskKey } from '@app/storage';
import { Injectable } from '@nestjs/common';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { AccessRecord } from '../access/access-record.js';
import { DELIVERIES, DELIVERY_CHUNKS, MESSAGES, RUNS } from './read-history.statements.js';
import { TaskReader } from '../queries/task-reader.js';
import { visibleTask } from '../access/visible-task.js';

/*
 * What the bounded view of a task leaves out, page by page and in the order of versions: events, messages, deliveries,
 * their parts, runs. Errors of all: TaskNotFound.
 */

export interface PageRequest {
  /** Version of the last thing that the caller has; 0 starts at the beginning. */
  readonly after: number;
  /** 1 to 1000. */
  readonly limit: number;
}

export interface HistoryPage<T> {
  readonly items: readonly T[];
  /** Where the next page goes on; null at the end. */
  readonly nextAfter: number | null;
}

/** An event as auditors read it; content is absent where there was none, and once it was erased. */
export interface AuditedEvent {
  readonly event: RecordedEvent;
  readonly stored: StoredEvent;
  readonly actor: Actor;
  /** Present when the stored content does not open: it was altered, or belongs to another key. */
  readonly unreadable?: true;
}

export interface SaidMessage {
  readonly version: number;
  readonly at: string;
  readonly message: Message;
}

export interface Delivery {
  readonly artifactId: string;
  readonly runId: string;
  readonly version: number;
  readonly chunks: number;
  readonly parts: number;
  readonly bytes: number;
  /** Clients see it: no later run or publish has replaced it. */
  readonly current: boolean;
}

export interface DeliveredPart {
  readonly version: number;
  readonly part: Part;
}

export interface RunRecord {
  readonly runId: string;
  readonly version: number;
  readonly attempt: number;
  readonly worker: string;
  readonly leaseGeneration: number;
  readonly dispatcherGeneration: number;
  readonly startedAt: string;
  readonly endedAt: string | null;
  /** Type of the event that ended it. */
  readonly ending: string | null;
}

export class ReadEvents extends Query<HistoryPage<AuditedEvent>> {
  constructor(
    readonly principal: Principal,
    readonly taskId: string,
    readonly page: PageRequest,
  ) {
    super();
  }
}

export class ReadMessages extends Query<HistoryPage<SaidMessage>> {
  constructor(
    readonly principal: Principal,
    readonly taskId: string,
    readonly page: PageRequest,
  ) {
    super();
  }
}

export class ReadDeliveries extends Query<HistoryPage<Delivery>> {
  constructor(
    readonly principal: Principal,
    readonly taskId: string,
    readonly page: PageRequest,
  ) {
    super();
  }
}

/** Parts of the current delivery of an artifact, chunk by chunk: a page may hold more parts than its limit of chunks. */
export class ReadDeliveryParts extends Query<HistoryPage<DeliveredPart>> {
  constructor(
    readonly principal: Principal,
    readonly taskId: string,
    readonly artifactId: string,
    readonly page: PageRequest,
  ) {
    super();
  }
}

export class ReadRuns extends Query<HistoryPage<RunRecord>> {
  constructor(
    readonly principal: Principal,
    readonly taskId: string,
    readonly page: PageRequest,
  ) {
    super();
  }
}

type ContentRow = Pick<StoredEvent, 'event_id' | 'type' | 'facts' | 'content' | 'version' | 'recorded_at'>;

/** Reads the log and its pointers for whoever may see the task. */
@Injectable()
abstract class HistoryHandler {
  constructor(
    protected readonly database: Database,
    protected readonly decoder: EventDecoder,
    protected readonly log: EventLog,
    protected readonly reader: TaskReader,
    protected readonly access: AccessRecord,
  ) {}

  protected visible(principal: Principal, taskId: string) {
    return visibleTask(principal, taskId, { reader: this.reader, access: this.access });
  }

  /** Content that does not open is no reason to hide that it is there. */
  protected contentOf(row: ContentRow, key: TaskKey | null): EventContent | null {
    try {
      return this.decoder.decode(row, key).content ?? null;
    } catch {
      return null;
    }
  }
}

@QueryHandler(ReadEvents)
export class ReadEventsHandler extends HistoryHandler implements IQueryHandler<ReadEvents> {
  async execute({ principal, taskId, page }: ReadEvents): Promise<HistoryPage<AuditedEvent>> {
    await this.visible(principal, taskId);
    const rows = await this.log.readStored(principal.tenantId, taskId, page.after, page.limit + 1);
    return paged(
      rows,
      page.limit,
      ({ event }) => event.version,
      ({ event: stored, key }) => {
        const actor = { subject: stored.actor_subject, role: stored.actor_role as Actor['role'] };
        try {
          return { event: this.decoder.decode(stored, key), stored, actor };
        } catch {
          return { event: this.decoder.decode({ ...stored, content: null }, null), stored, actor, unreadable: true as const };
        }
      },
    );
  }
}

@QueryHandler(ReadMessages)
export class ReadMessagesHandler extends HistoryHandler implements IQueryHandler<ReadMessages> {
  async execute({ principal, taskId, page }: ReadMessages): Promise<HistoryPage<SaidMessage>> {
    const { key } = await this.visible(principal, taskId);
    const rows = await this.database.run<ContentRow>(MESSAGES, [
      principal.tenantId,
      taskId,
      page.after,
      page.limit + 1,
    ]);
    const { items, nextAfter } = paged(
      rows,
      page.limit,
      (row) => row.version,
      (row) => ({ row, content: this.contentOf(row, key) }),
    );
    return {
      nextAfter,
      items: items.flatMap(({ row, content }) =>
        content?.message === undefined
          ? []
          : [{ version: row.version, at: row.recorded_at.toISOString(), message: content.message }],
      ),
    };
  }
}

@QueryHandler(ReadDeliveries)
export class ReadDeliveriesHandler extends HistoryHandler implements IQueryHandler<ReadDeliveries> {
  async execute({ principal, taskId, page }: ReadDeliveries): Promise<HistoryPage<Delivery>> {
    await this.visible(principal, taskId);
    const rows = await this.database.run<{
      artifact_id: string;
      run_id: string;
      started_version: number;
      chunks: number;
      parts: number;
      bytes: number;
      current: boolean;
    }>(DELIVERIES, [principal.tenantId, taskId, page.after, page.limit + 1]);
    return paged(
      rows,
      page.limit,
      (row) => row.started_version,
      (row) => ({
        artifactId: row.artifact_id,
        runId: row.run_id,
        version: row.started_version,
        chunks: row.chunks,
        parts: row.parts,
        bytes: row.bytes,
        current: row.current,
      }),
    );
  }
}

@QueryHandler(ReadDeliveryParts)
export class ReadDeliveryPartsHandler extends HistoryHandler implements IQueryHandler<ReadDeliveryParts> {
  async execute({ principal, taskId, artifactId, page }: ReadDeliveryParts): Promise<HistoryPage<DeliveredPart>> {
    const { key } = await this.visible(principal, taskId);
    const rows = await this.database.run<ContentRow>(DELIVERY_CHUNKS, [
      principal.tenantId,
      taskId,
      artifactId,
      page.after,
      page.limit + 1,
    ]);
    const { items, nextAfter } = paged(
      rows,
      page.limit,
      (row) => row.version,
      (row) => (this.contentOf(row, key)?.artifact?.parts ?? []).map((part) => ({ version: row.version, part })),
    );
    return { items: items.flat(), nextAfter };
  }
}

@QueryHandler(ReadRuns)
export class ReadRunsHandler extends HistoryHandler implements IQueryHandler<ReadRuns> {
  async execute({ principal, taskId, page }: ReadRuns): Promise<HistoryPage<RunRecord>> {
    await this.visible(principal, taskId);
    const rows = await this.database.run<{
      version: number;
      facts: Extract<RecordedEvent, { type: 'RunStarted' }>['facts'];
      recorded_at: Date;
      ended_at: Date | null;
      ending: string | null;
    }>(RUNS, [principal.tenantId, taskId, page.after, page.limit + 1]);
    return paged(
      rows,
      page.limit,
      (row) => row.version,
      (row) => ({
        ...row.facts,
        version: row.version,
        startedAt: row.recorded_at.toISOString(),
        endedAt: row.ended_at?.toISOString() ?? null,
        ending: row.ending,
      }),
    );
  }
}

/** One page of rows of which one more than the limit was asked for. */
function paged<Row, T>(
  rows: readonly Row[],
  limit: number,
  versionOf: (row: Row) => number,
  item: (row: Row) => T,
): HistoryPage<T> {
  const shown = rows.slice(0, limit);
  return { items: shown.map(item), nextAfter: rows.length > limit ? versionOf(shown.at(-1)!) : null };
}

export const READ_HISTORY_HANDLERS = [
  ReadEventsHandler,
  ReadMessagesHandler,
  ReadDeliveriesHandler,
  ReadDeliveryPartsHandler,
  ReadRunsHandler,
];
