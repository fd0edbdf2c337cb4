import { type Database, isLockTimeout, isRolledBack, type NamedStatement } from '@app/storage';
import { type AppendedRow, appendStatement } from './append.statement.js';

/** An append in the form in which it is sent. */
export interface EncodedCall {
  readonly stream: string;
  /** Batches are sorted by it, so that all of them lock in one order. */
  readonly position: string;
  /** The values of `appendValues`. */
  readonly values: readonly unknown[];
}

interface PendingAppend extends EncodedCall {
  /** Of `performance.now()`. */
  readonly since: number;
  resolve(row: AppendedRow): void;
  reject(error: unknown): void;
}

/** Enough to keep the database busy while the next batch collects appends. */
const MAX_BATCHES_IN_FLIGHT = 3;
const MAX_BATCH_SIZE = 12;
/** Appends that are sent again by themselves do not use the batches, and leave connections to reads. */
const MAX_SINGLES_IN_FLIGHT = 3;
/** How long an append to a locked stream is repeated. Less than the query timeout, as for every other statement. */
const LOCK_RETRY_MS = 8_000;

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
 * A batch has the same results as its appends one by one. One append of a stream is in flight, so appends that wait for a
 * lock on their stream delay one batch, until the lock timeout of `append_events`. A batch that the database rolls back is
 * sent again one append at a time, beside the batches. An append to a stream that is still locked is repeated there for 8 s,
 * and then rejected with the error of the database. Batches lock their streams in one order, so they cannot deadlock.
 */
export class AppendBatches {
  private pending: PendingAppend[] = [];
  private readonly singles: PendingAppend[] = [];
  /** The streams of the appends that are in a batch or a single. */
  private readonly busy = new Set<string>();
  private inFlight = 0;
  private singlesInFlight = 0;
  private isScheduled = false;

  constructor(
    private readonly database: Pick<Database, 'run'>,
    private readonly lockRetryMs = LOCK_RETRY_MS,
  ) {}

  /** Appends to one stream. */
  append(call: EncodedCall): Promise<AppendedRow> {
    return new Promise((resolve, reject) => {
      this.pending.push({ ...call, since: performance.now(), resolve, reject });
      this.schedule();
    });
  }

  // After the current turn of the event loop, so that the batch contains all appends of that turn.
  private schedule(): void {
    if (this.isScheduled || this.inFlight >= MAX_BATCHES_IN_FLIGHT) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      while (this.inFlight < MAX_BATCHES_IN_FLIGHT) {
        const batch = this.takeBatch();
        if (batch.length === 0) break;
        void this.sendBatch(batch);
      }
    });
  }

  private takeBatch(): PendingAppend[] {
    const batch: PendingAppend[] = [];
    const remaining: PendingAppend[] = [];
    for (const append of this.pending) {
      if (batch.length < MAX_BATCH_SIZE && !this.busy.has(append.stream)) {
        this.busy.add(append.stream);
        batch.push(append);
      } else {
        remaining.push(append);
      }
    }
    this.pending = remaining;
    return batch.sort((a, b) => (a.position < b.position ? -1 : 1));
  }

  private async sendBatch(batch: readonly PendingAppend[]): Promise<void> {
    this.inFlight += 1;
    try {
      const rows = await this.database.run<AppendedRow>(
        STATEMENTS[batch.length - 1]!,
        batch.flatMap((append) => append.values),
      );
      batch.forEach((append, index) => this.settle(append, () => append.resolve(rows[index]!)));
    } catch (error) {
      if (isLockTimeout(error) || (batch.length > 1 && isRolledBack(error))) {
        this.singles.unshift(...batch);
        this.sendSingles();
      } else {
        for (const append of batch) this.settle(append, () => append.reject(error));
      }
    } finally {
      this.inFlight -= 1;
      if (this.pending.length > 0) this.schedule();
    }
  }

  private sendSingles(): void {
    while (this.singlesInFlight < MAX_SINGLES_IN_FLIGHT && this.singles.length > 0) {
      void this.sendSingle(this.singles.shift()!);
    }
  }

  private async sendSingle(append: PendingAppend): Promise<void> {
    this.singlesInFlight += 1;
    try {
      const [row] = await this.database.run<AppendedRow>(APPEND_ONE, append.values);
      this.settle(append, () => append.resolve(row!));
    } catch (error) {
      if (isLockTimeout(error)) this.repeatOrReject(append, error);
      else this.settle(append, () => append.reject(error));
    } finally {
      this.singlesInFlight -= 1;
      this.sendSingles();
      if (this.pending.length > 0) this.schedule();
    }
  }

  /** Goes on with the next append of a locked stream, which would delay a batch. */
  private repeatOrReject(append: PendingAppend, error: unknown): void {
    if (performance.now() - append.since < this.lockRetryMs) {
      this.singles.push(append);
      return;
    }
    append.reject(error);
    const next = this.pending.findIndex(({ stream }) => stream === append.stream);
    if (next === -1) this.busy.delete(append.stream);
    else this.singles.push(...this.pending.splice(next, 1));
  }

  private settle(append: PendingAppend, result: () => void): void {
    this.busy.delete(append.stream);
    result();
  }
}
