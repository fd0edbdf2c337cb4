import { type Database, isRolledBack, type NamedStatement } from '@app/storage';
import { type AppendedRow, appendStatement } from './append.statement.js';

interface PendingAppend {
  readonly stream: string;
  readonly values: readonly unknown[];
  resolve(row: AppendedRow): void;
  reject(error: unknown): void;
}

/** Enough to keep the database busy while the next batch collects appends. */
const MAX_BATCHES_IN_FLIGHT = 3;
const MAX_BATCH_SIZE = 12;

/**
 * The statements for 1, 2, … appends. Each size has a prepared statement, so that it is planned once per connection.
 */
const STATEMENTS: readonly NamedStatement[] = Array.from({ length: MAX_BATCH_SIZE }, (_, index) =>
  appendStatement(index + 1),
);

/** The statement of a single append. */
export const APPEND_ONE = STATEMENTS[0]!;

/**
 * Combines the appends of concurrent commands into one transaction, because under load the commit and the round trip
 * cost more than the rows. An append without concurrent ones is sent immediately.
 *
 * A batch has the same results as its appends one by one: it contains each stream once, and when the database rejects
 * one append and rolls back all of them, each is sent again by itself. Batches lock their streams in one order, so they
 * cannot deadlock.
 */
export class AppendBatches {
  private pending: PendingAppend[] = [];
  private inFlight = 0;
  private isScheduled = false;

  constructor(private readonly database: Database) {}

  /** Appends to one stream. The values are those of `appendValues`. */
  append(stream: string, values: readonly unknown[]): Promise<AppendedRow> {
    return new Promise((resolve, reject) => {
      this.pending.push({ stream, values, resolve, reject });
      this.schedule();
    });
  }

  // After the current turn of the event loop, so that the batch contains all appends of that turn.
  private schedule(): void {
    if (this.isScheduled || this.inFlight >= MAX_BATCHES_IN_FLIGHT) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      while (this.inFlight < MAX_BATCHES_IN_FLIGHT && this.pending.length > 0) void this.sendBatch(this.takeBatch());
    });
  }

  private takeBatch(): PendingAppend[] {
    const batch = new Map<string, PendingAppend>();
    const remaining: PendingAppend[] = [];
    for (const append of this.pending) {
      if (batch.size < MAX_BATCH_SIZE && !batch.has(append.stream)) batch.set(append.stream, append);
      else remaining.push(append);
    }
    this.pending = remaining;
    return [...batch.values()].sort((a, b) => (a.stream < b.stream ? -1 : 1));
  }

  private async sendBatch(batch: readonly PendingAppend[]): Promise<void> {
    this.inFlight += 1;
    try {
      const rows = await this.database.run<AppendedRow>(
        STATEMENTS[batch.length - 1]!,
        batch.flatMap((append) => append.values),
      );
      batch.forEach((append, index) => append.resolve(rows[index]!));
    } catch (error) {
      if (batch.length > 1 && isRolledBack(error)) await Promise.all(batch.map((append) => this.sendSingle(append)));
      else for (const append of batch) append.reject(error);
    } finally {
      this.inFlight -= 1;
      if (this.pending.length > 0) this.schedule();
    }
  }

  private async sendSingle(append: PendingAppend): Promise<void> {
    await this.database.run<AppendedRow>(APPEND_ONE, append.values).then(
      (rows) => append.resolve(rows[0]!),
      (error: unknown) => append.reject(error),
    );
  }
}
