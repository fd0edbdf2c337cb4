import type { EventContent, Principal } from '@app/domain';
import { Database, type DecodedColumns, EventDecoder, type NamedStatement, type TaskKey } from '@app/storage';
import { Injectable } from '@nestjs/common';
import { type AccessedTask, type AccessOperation, TaskAccess } from '../access/task-access.js';
import { type StoredTaskEvent, TaskReader } from '../queries/task-reader.js';

export interface PageRequest {
  /** Version of the last item that the caller has. 0: from the beginning. */
  readonly after: number;
  /** 1 to 1000. */
  readonly limit: number;
}

export interface HistoryPage<T> {
  readonly items: readonly T[];
  /** The `after` of the next page. Null on the last page. */
  readonly nextAfter: number | null;
}

/** Reads the history of a task in pages: everything that the bounded view of the task omits. */
@Injectable()
export class HistoryReader {
  constructor(
    private readonly database: Database,
    private readonly decoder: EventDecoder,
    private readonly reader: TaskReader,
    private readonly access: TaskAccess,
  ) {}

  /** Returns a task that the caller can access, also if it ended with a direct message response. Errors: TaskNotFound. */
  requireTask(principal: Principal, operation: AccessOperation, taskId: string): Promise<AccessedTask> {
    return this.access.require(principal, operation, { taskId }, { replied: true });
  }

  /** Reads one page of the rows of a statement, whose last parameters are `after` and `limit`. */
  async rows<Row extends { readonly version: number }>(
    statement: NamedStatement,
    parameters: readonly string[],
    { after, limit }: PageRequest,
  ): Promise<HistoryPage<Row>> {
    return pageOf(await this.database.run<Row>(statement, [...parameters, after, limit + 1]), limit);
  }

  /** Returns whether a statement returns a row. */
  async exists(statement: NamedStatement, parameters: readonly string[]): Promise<boolean> {
    return (await this.database.run(statement, [...parameters])).length > 0;
  }

  /** Reads one page of events, as stored and with their content. */
  async events(tenantId: string, taskId: string, { after, limit }: PageRequest): Promise<HistoryPage<StoredTaskEvent>> {
    const events = await this.reader.storedEvents(tenantId, taskId, after, limit + 1);
    const { items, nextAfter } = pageOf(
      events.map((stored) => ({ ...stored, version: stored.event.version })),
      limit,
    );
    return { items, nextAfter };
  }

  /** Returns the content of an event. Undefined: it has none, or it was erased or is corrupt. */
  contentOf(row: DecodedColumns, key: TaskKey | null): EventContent | undefined {
    return this.decoder.decode(row, key).content;
  }
}

/** Returns a page with each item replaced by any number of others. */
export const mapPage = <T, U>(page: HistoryPage<T>, map: (item: T) => readonly U[]): HistoryPage<U> => ({
  items: page.items.flatMap(map),
  nextAfter: page.nextAfter,
});

/** Returns the page of rows that were read with one row more than its limit. */
function pageOf<Row extends { readonly version: number }>(rows: readonly Row[], limit: number): HistoryPage<Row> {
  const items = rows.slice(0, limit);
  return { items, nextAfter: rows.length > limit ? items.at(-1)!.version : null };
}
