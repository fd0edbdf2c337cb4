import { isDeepStrictEqual } from 'node:util';
import { evolve, NIL_UUID, type RecordedEvent, type TaskState } from '@app/domain';
import { type Database, type DecodedColumns, EventDecoder, type Executor, type ServerSecret } from '@app/storage';
import {
  DELETE_POINTERS,
  LIST_STREAMS,
  LOCK_QUEUE_ROW,
  LOCK_TASK_ROW,
  PROJECTED_ROWS,
  READ_FACTS,
  WRITE_CONTEXT,
  WRITE_QUEUE_OWNER,
  WRITE_READ_MODELS,
  WRITE_RECEIPTS,
  WRITE_TASK_ROW,
} from './rebuild-projections.statements.js';
import { projectRows } from './task.projector.js';

export interface TaskRef {
  readonly tenantId: string;
  readonly taskId: string;
}

/** A row of a read model that differs from the projection of the events. */
export interface RowDifference extends TaskRef {
  readonly table: string;
  /** Identifies the row among the rows of its task. Empty if the table has one row per task. */
  readonly key: string;
  readonly kind: 'missing' | 'surplus' | 'different';
  /** Columns that differ. */
  readonly columns: readonly string[];
}

/**
 * The events of a task are incomplete. Its rows are not rebuilt, because the present task row is evidence of the events
 * that are missing.
 */
export class CorruptStream extends Error {
  constructor(
    readonly task: TaskRef,
    problem: string,
  ) {
    super(`task "${task.taskId}" of tenant "${task.tenantId}" ${problem}; run \`acta audit verify\``);
  }
}

interface StoredHead {
  version: number;
  head_hash: Buffer;
}

interface ProjectedRow {
  table_name: string;
  key: string;
  row: Record<string, unknown>;
}

const PAGE_ROWS = 500;

/**
 * Rebuilds the read models of tasks from their events, while the server runs. One transaction per task takes the locks of
 * an append, in the same order. The lease expiry is kept, because no event has it.
 */
export class Projections {
  constructor(
    private readonly database: Database,
    private readonly decoder: EventDecoder,
    /** The lease of a run whose queue row is missing. */
    private readonly leaseMs: number,
  ) {}

  /** Creates an instance outside of Nest. */
  static create(
    { database, secret }: { readonly database: Database; readonly secret: ServerSecret },
    leaseMs: number,
  ): Projections {
    return new Projections(database, new EventDecoder(secret), leaseMs);
  }

  /** Yields every task that has events, in the order of tenants and ids. */
  async *tasks(): AsyncGenerator<TaskRef> {
    let last: TaskRef = { tenantId: '', taskId: NIL_UUID };
    for (;;) {
      const rows = await this.database.run<{ tenant_id: string; task_id: string }>(LIST_STREAMS, [
        last.tenantId,
        last.taskId,
        PAGE_ROWS,
      ]);
      for (const row of rows) yield (last = { tenantId: row.tenant_id, taskId: row.task_id });
      if (rows.length < PAGE_ROWS) return;
    }
  }

  /** Rebuilds the rows of a task and returns their differences before. Throws CorruptStream, with nothing changed. */
  rebuild(task: TaskRef): Promise<RowDifference[]> {
    return this.database.transaction((executor) => this.project(task, executor));
  }

  /** Returns what a rebuild would change. It is a rebuild that is rolled back, so both always use the same projection. */
  check(task: TaskRef): Promise<RowDifference[]> {
    return this.database.transaction(async (executor) => {
      await executor.query('savepoint before_rebuild');
      const differences = await this.project(task, executor);
      await executor.query('rollback to savepoint before_rebuild');
      return differences;
    });
  }

  private async project(task: TaskRef, executor: Executor): Promise<RowDifference[]> {
    const { database } = this;
    const id = [task.tenantId, task.taskId];
    await database.run(LOCK_QUEUE_ROW, id, executor);
    const [row] = await database.run<StoredHead>(LOCK_TASK_ROW, id, executor);
    const { state, hash } = await this.fold(task, row, executor);
    const before = await database.run<ProjectedRow>(PROJECTED_ROWS, id, executor);
    await database.run(
      WRITE_TASK_ROW,
      [
        ...id,
        state.contextId,
        state.owner,
        state.ring,
        state.agent,
        state.status,
        state.version,
        hash,
        state.statusAt,
        JSON.stringify(state),
      ],
      executor,
    );
    await database.run(WRITE_CONTEXT, [task.tenantId, state.owner, state.contextId, state.ring], executor);
    await database.run(WRITE_RECEIPTS, id, executor);
    await database.run(DELETE_POINTERS, id, executor);
    for await (const events of this.pages(task, executor)) {
      // Each page has the final queue row. The row is updated in place, because an append that waits for its lock would
      // take a deleted and reinserted row for a fence.
      const rows = JSON.stringify(projectRows(events, state));
      await database.run(WRITE_READ_MODELS, [...id, rows, this.leaseMs], executor);
    }
    await database.run(WRITE_QUEUE_OWNER, [...id, state.agent, state.ring], executor);
    const after = await database.run<ProjectedRow>(PROJECTED_ROWS, id, executor);
    return differencesBetween(task, before, after);
  }

  private async fold(task: TaskRef, row: StoredHead | undefined, executor: Executor) {
    let state: TaskState | null = null;
    let hash: Buffer = Buffer.alloc(0);
    for await (const events of this.pages(task, executor)) {
      for (const event of events) {
        if (event.version !== (state?.version ?? 0) + 1) throw new CorruptStream(task, 'has a missing event');
        if (event.newerSchema)
          throw new CorruptStream(task, 'has an event of a newer version of Acta; use that version');
        state = evolve(state, event, event);
        ({ hash } = event);
      }
    }
    if (state === null) throw new CorruptStream(task, 'has no events');
    // An append writes the row and the last event together, so the row cannot have a later or a different head.
    if (
      row !== undefined &&
      (row.version > state.version || (row.version === state.version && !row.head_hash.equals(hash)))
    ) {
      throw new CorruptStream(task, 'has a task row with a different head than its events');
    }
    return { state, hash };
  }

  private async *pages(task: TaskRef, executor: Executor): AsyncGenerator<(RecordedEvent & { hash: Buffer })[]> {
    let last = 0;
    for (;;) {
      const rows = await this.database.run<FactsRow>(
        READ_FACTS,
        [task.tenantId, task.taskId, last, PAGE_ROWS],
        executor,
      );
      if (rows.length > 0) yield rows.map((row) => ({ ...this.decoder.decode(row, null), hash: row.hash }));
      if (rows.length < PAGE_ROWS) return;
      last = rows.at(-1)!.version;
    }
  }
}

type FactsRow = DecodedColumns & { hash: Buffer };

function differencesBetween(
  task: TaskRef,
  before: readonly ProjectedRow[],
  after: readonly ProjectedRow[],
): RowDifference[] {
  const nameOf = ({ table_name: table, key }: ProjectedRow) => JSON.stringify([table, key]);
  const stored = new Map(before.map((row) => [nameOf(row), row]));
  const differences: RowDifference[] = [];
  const add = ({ table_name: table, key }: ProjectedRow, kind: RowDifference['kind'], columns: string[] = []) =>
    differences.push({ ...task, table, key, kind, columns });
  for (const row of after) {
    const previous = stored.get(nameOf(row));
    stored.delete(nameOf(row));
    if (previous === undefined) add(row, 'missing');
    else {
      const columns = Object.keys(row.row).filter((name) => !isDeepStrictEqual(row.row[name], previous.row[name]));
      if (columns.length > 0) add(row, 'different', columns);
    }
  }
  for (const row of stored.values()) add(row, 'surplus');
  return differences;
}
