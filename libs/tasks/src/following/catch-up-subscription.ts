import type { RecordedEvent } from '@app/domain';
import type { TaskChange, TaskWakeups } from '@app/storage';
import type { Subscription } from 'rxjs';
import type { TaskReader } from '../queries/task-reader.js';

const PAGE_EVENTS = 200;
/** Events in memory for a slow consumer. Later events stay in the log until the consumer is idle. */
const BUFFER_EVENTS = 256;
const REREAD_MS = 200;

/** The log and the wake-ups that a subscription uses. */
export interface TaskEventSource {
  readonly reader: Pick<TaskReader, 'events'>;
  readonly wakeups: Pick<TaskWakeups, 'changes'>;
}

export interface SubscriptionListener {
  /** Called when `take` has events, synchronously for an append of this process. */
  onEvents(): void;
  /** Called when a read fails. Absent: the read is repeated until it succeeds. */
  onError?(error: unknown): void;
}

/**
 * Delivers the events of one task after a version, each once and in order.
 *
 * It subscribes to wake-ups before it reads, so it misses nothing in between. Events that come with a wake-up cost no
 * read. A gap, or a change by another process, is read from the event log in pages. Consumers call `take` until it
 * returns nothing. No page is read before that, so a slow consumer costs bounded memory.
 */
export class CatchUpSubscription {
  private readonly subscription: Subscription;
  private started = false;
  private readonly beforeStart: TaskChange[] = [];
  /** Version of the newest event that was buffered. */
  private last = 0;
  /** Newest version that a wake-up has announced. */
  private announced = 0;
  /** The log may have events that no wake-up has announced. */
  private needsRead = false;
  private buffer: RecordedEvent[] = [];
  private consumerIdle = true;
  private reading = false;
  private rereadTimer: NodeJS.Timeout | null = null;

  constructor(
    private readonly source: TaskEventSource,
    private readonly tenantId: string,
    private readonly taskId: string,
    private readonly listener: SubscriptionListener,
  ) {
    this.subscription = source.wakeups.changes(tenantId, taskId).subscribe((change) => this.onChange(change));
  }

  /** Starts after a version. `readFirst`: the log may already have later events, so it is read once without a wake-up. */
  start(after: number, { readFirst = false } = {}): void {
    this.started = true;
    this.last = after;
    this.needsRead = readFirst;
    for (const change of this.beforeStart.splice(0)) this.onChange(change);
    if (this.isBehind()) void this.catchUp();
  }

  /** Returns the events that have arrived since the last call. Nothing: the consumer is idle and gets the next page. */
  take(): readonly RecordedEvent[] {
    const events = this.buffer;
    this.buffer = [];
    this.consumerIdle = events.length === 0;
    if (this.consumerIdle && this.isBehind()) void this.catchUp();
    return events;
  }

  /** Passes all events that have arrived to a consumer that is never busy. */
  drain(apply: (events: readonly RecordedEvent[]) => void): void {
    while (this.buffer.length > 0) {
      const events = this.buffer;
      this.buffer = [];
      apply(events);
    }
  }

  close(): void {
    this.subscription.unsubscribe();
    if (this.rereadTimer !== null) clearTimeout(this.rereadTimer);
  }

  private onChange(change: TaskChange): void {
    const { version, events } = change;
    if (!this.started) {
      this.beforeStart.push(change);
      return;
    }
    if (version <= this.last) return;
    this.announced = Math.max(this.announced, version);
    if (events === undefined || !this.append(events)) void this.catchUp();
  }

  /** Buffers the events that continue the stream. Returns false if none does, or if the buffer is full. */
  private append(events: readonly RecordedEvent[]): boolean {
    const { last, buffer } = this;
    const added = events.filter(({ version }) => version > last);
    if (added[0]?.version !== last + 1) return false;
    if (buffer.length === 0) this.buffer = added;
    else if (buffer.length + added.length <= BUFFER_EVENTS) buffer.push(...added);
    else return false;
    this.last = added.at(-1)!.version;
    this.listener.onEvents();
    return true;
  }

  private isBehind(): boolean {
    return this.needsRead || this.announced > this.last;
  }

  private async catchUp(): Promise<void> {
    if (this.reading || this.rereadTimer !== null) return;
    this.reading = true;
    while (this.isBehind() && this.consumerIdle && this.buffer.length === 0 && !this.subscription.closed) {
      const { announced } = this;
      const page = await this.readPage();
      if (page === null || this.subscription.closed) break;
      if (page.length < PAGE_EVENTS) this.needsRead = false;
      if (page.some(({ version }) => version > this.last)) this.append(page);
      else if (announced > this.last) {
        // A failover can lose an append that was announced.
        this.rereadLater();
        break;
      }
    }
    this.reading = false;
  }

  /** Returns null after an error. What was announced once is not announced again, so only a further read finds it. */
  private async readPage(): Promise<readonly RecordedEvent[] | null> {
    try {
      return await this.source.reader.events(this.tenantId, this.taskId, this.last, PAGE_EVENTS);
    } catch (error) {
      if (this.subscription.closed) return null;
      if (this.listener.onError === undefined) this.rereadLater();
      else this.listener.onError(error);
      return null;
    }
  }

  private rereadLater(): void {
    this.rereadTimer = setTimeout(() => {
      this.rereadTimer = null;
      void this.catchUp();
    }, REREAD_MS);
  }
}
