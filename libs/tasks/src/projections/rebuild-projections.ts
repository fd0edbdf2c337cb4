import { isDeepStrictEqual } from 'node:util';
import { evolve, type RecordedEvent, type TaskState } from '@app/domain';
import { type Database, EventDecoder, type Executor, type ServerSecret } from '@app/storage';
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

/** A row of a read model that is not what the events say. */
export interface RowDifference extends TaskRef {
  readonly table: string;
  /** What tells the row from the others of its task in its table; empty where there is one. */
  readonly key: string;
  readonly kind: 'missing' | 'surplus' | 'different';
  /** Columns that differ. */
  readonly columns: readonly string[];
}

/** The events of a task cannot be all that were written, so nothing may be made of them: the row would lose the proof. */
export class DamagedStream extends Error {
  constructor(
    readonly task: TaskRef,
    why: string,
  ) {
    super(`task ${task.taskId} of tenant "${task.tenantId}" ${why}: see \`acta audit verify\``);
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

const PAGE = 500;

/**
 * Makes the read models of a task anew from its events, while everything runs: one transaction a task, under the locks
 * that an append takes, in their order. Lease expiry is kept, since it is no fact.
 */
export class Projections {
  constructor(
    private readonly database: Database,
    private readonly decoder: EventDecoder,
    /** For a run whose queue row is gone: its new row needs some lease. */
    private readonly leaseMs: number,
  ) {}

  /** Creates it outside of Nest. */
  static over(
    { database, secret }: { readonly database: Database; readonly secret: ServerSecret },
    leaseMs: number,
  ): Projections {
    return new Projections(database, new EventDecoder(secret), leaseMs);
  }

  /** Every task that has events, in the order of tenants and ids. */
  async *tasks(): AsyncGenerator<TaskRef> {
    let last: TaskRef = { tenantId: '', taskId: '' };
    for (;;) {
      const rows = await this.database.run<{ tenant_id: string; task_id: string }>(LIST_STREAMS, [
        last.tenantId,
        last.taskId,
        PAGE,
      ]);
      for (const row of rows) yield (last = { tenantId: row.tenant_id, taskId: row.task_id });
      if (rows.length < PAGE) return;
    }
  }

  /** Writes the rows of a task; gives what was different before. Throws DamagedStream, with nothing changed. */
  rebuild(task: TaskRef): Promise<RowDifference[]> {
    return this.database.transaction((executor) => this.project(task, executor));
  }

  /**
   * What a rebuild would change. It is a rebuild that is taken back, because a second way to compute the rows could be
   * wrong where the first is right.
   */
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
      // Every page brings the queue row as it ends up: it is changed in place, for whoever waits for its lock would take
      // a row that was deleted and made anew for a fence.
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
        if (event.version !== (state?.version ?? 0) + 1) throw new DamagedStream(task, 'lacks an event');
        state = evolve(state, event, event);
        ({ hash } = event);
      }
    }
    if (state === null) throw new DamagedStream(task, 'has no events');
    // The row is written with the last event, so it can never know of more, nor of another.
    if (
      row !== undefined &&
      (row.version > state.version || (row.version === state.version && !row.head_hash.equals(hash)))
    ) {
      throw new DamagedStream(task, 'has a row that names another head than its events have');
    }
    return { state, hash };
  }

  private async *pages(task: TaskRef, executor: Executor): AsyncGenerator<(RecordedEvent & { hash: Buffer })[]> {
    let last = 0;
    for (;;) {
      const rows = await this.database.run<FactsRow>(
        READ_FACTS,
        [task.tenantId, task.taskId, last, PAGE],
        executor,
      );
      if (rows.length > 0)
        yield rows.map((row) => ({ ...this.decoder.decode({ ...row, content: null }, null), hash: row.hash }));
      if (rows.length < PAGE) return;
      last = rows.at(-1)!.version;
    }
  }
}

interface FactsRow {
  event_id: string;
  type: string;
  facts: string;
  version: number;
  recorded_at: Date;
  hash: Buffer;
}

function differencesBetween(
  task: TaskRef,
  before: readonly ProjectedRow[],
  after: readonly ProjectedRow[],
): RowDifference[] {
  const nameOf = ({ table_name: table, key }: ProjectedRow) => JSON.stringify([table, key]);
  const stored = new Map(before.map((row) => [nameOf(row), row]));
  const differences: RowDifference[] = [];
  const note = ({ table_name: table, key }: ProjectedRow, kind: RowDifference['kind'], columns: string[] = []) =>
    differences.push({ ...task, table, key, kind, columns });
  for (const row of after) {
    const was = stored.get(nameOf(row));
    stored.delete(nameOf(row));
    if (was === undefined) note(row, 'missing');
    else {
      const columns = Object.keys(row.row).filter((name) => !isDeepStrictEqual(row.row[name], was.row[name]));
      if (columns.length > 0) note(row, 'different', columns);
    }
  }
  for (const row of stored.values()) note(row, 'surplus');
  return differences;
}
