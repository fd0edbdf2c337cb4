import type { Database, NamedStatement } from '@app/storage';

/** What `append_events` answers. */
export interface AppendedRow {
  readonly outcome: 'appended' | 'fenced' | 'received';
  readonly receipt_task: string | null;
  readonly receipt_fingerprint: Buffer | null;
}

interface Waiting {
  readonly stream: string;
  readonly values: readonly unknown[];
  resolve(row: AppendedRow): void;
  reject(error: unknown): void;
}

/** Calls at a time: enough to keep the database busy while the next batch gathers. */
const IN_FLIGHT = 3;
const BATCH = 12;
const COLUMNS =
  '?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ' +
  '?::uuid[], ?::text[], ?::text[], ?::bytea[], ?, ?::bytea[], ?, ?, ?, ?::jsonb, ?, ?::jsonb';

/** One statement that makes `calls` appends. Each size is planned once for each connection. */
const STATEMENTS: readonly NamedStatement[] = Array.from({ length: BATCH }, (_, at) => statementOf(at + 1));

/** The statement of a single append. */
export const APPEND_ONE = STATEMENTS[0]!;

/**
 * Gathers the appends of concurrent commands into one transaction: under load, the commit and the round trip cost more
 * than the rows. An append that comes alone goes alone and at once.
 *
 * A batch is as good as its appends one by one: each stream appears in it once; when one append is refused, the database
 * has undone all of them, and each is made again by itself. Streams are taken in one order, so that two batches cannot
 * wait for each other.
 */
export class AppendBatches {
  private waiting: Waiting[] = [];
  private inFlight = 0;
  private scheduled = false;

  constructor(private readonly database: Database) {}

  append(stream: string, values: readonly unknown[]): Promise<AppendedRow> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ stream, values, resolve, reject });
      this.schedule();
    });
  }

  /** After what is read in this turn of the event loop, so that appends which come together go together. */
  private schedule(): void {
    if (this.scheduled || this.inFlight >= IN_FLIGHT) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      while (this.inFlight < IN_FLIGHT && this.waiting.length > 0) void this.send(this.take());
    });
  }

  private take(): Waiting[] {
    const batch = new Map<string, Waiting>();
    const left: Waiting[] = [];
    for (const append of this.waiting) {
      if (batch.size < BATCH && !batch.has(append.stream)) batch.set(append.stream, append);
      else left.push(append);
    }
    this.waiting = left;
    return [...batch.values()].sort((a, b) => (a.stream < b.stream ? -1 : 1));
  }

  private async send(batch: readonly Waiting[]): Promise<void> {
    this.inFlight += 1;
    try {
      const rows = await this.database.run<AppendedRow>(
        STATEMENTS[batch.length - 1]!,
        batch.flatMap((append) => append.values),
      );
      batch.forEach((append, at) => append.resolve(rows[at]!));
    } catch (error) {
      if (batch.length > 1 && isRefusal(error)) await Promise.all(batch.map((append) => this.sendAlone(append)));
      else for (const append of batch) append.reject(error);
    } finally {
      this.inFlight -= 1;
      if (this.waiting.length > 0) this.schedule();
    }
  }

  private async sendAlone(append: Waiting): Promise<void> {
    await this.database.run<AppendedRow>(APPEND_ONE, append.values).then(
      (rows) => append.resolve(rows[0]!),
      (error: unknown) => append.reject(error),
    );
  }
}

/** The database said no and undid everything; after a broken connection nobody knows. */
function isRefusal(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code !== undefined && /^[0-9A-Z]{5}$/.test(code) && !/^(?:08|57|58)/.test(code);
}

function statementOf(calls: number): NamedStatement {
  let parameter = 0;
  const branches = Array.from({ length: calls }, (_, at) => {
    const columns = COLUMNS.replaceAll('?', () => `$${(parameter += 1)}`);
    return `select ${at} as nth, a.* from append_events(${columns}) a`;
  });
  const [one] = branches;
  return {
    name: `append_events_${calls}`,
    text: calls === 1 ? one! : `select * from (${branches.join(' union all ')}) appends order by nth`,
  };
}
