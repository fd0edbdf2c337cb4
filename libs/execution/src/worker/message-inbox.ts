import { setTimeout as sleep } from 'node:timers/promises';
import type { Message, RecordedEvent } from '@app/domain';
import type { TaskReader, TaskWriter } from '@app/tasks';
import type { Subscription } from 'rxjs';

const PAGE = 100;
const RETRY_MS = 200;

/** What a run must hear of its task while it works. */
export interface InboxListener {
  canceled(): void;
  /** The task ended or passed to another run. */
  taken(): void;
  /** The agent has been given the message of this version. */
  read(version: number): void;
}

/**
 * What happens to a task from outside while a run works on it: messages that join it, a cancel, the loss of the run. Own
 * events come along with the wake-up; what another process appended is read from the log.
 */
export class MessageInbox {
  private readonly subscription: Subscription;
  private readonly waiting: { version: number; message: Message }[] = [];
  private seen: number;
  private announced = 0;
  private catchingUp = false;
  private closed = false;
  private readonly readers = new Set<() => void>();

  constructor(
    private readonly services: { readonly streams: Pick<TaskWriter, 'wakeups'>; readonly reader: Pick<TaskReader, 'events'> },
    private readonly tenantId: string,
    private readonly taskId: string,
    version: number,
    private readonly listener: InboxListener,
  ) {
    this.seen = version;
    this.subscription = services.streams.wakeups.changes(tenantId, taskId).subscribe((change) => {
      if (change.version <= this.seen) return;
      this.announced = Math.max(this.announced, change.version);
      if (change.events?.[0]?.version === this.seen + 1) this.take(change.events);
      else void this.catchUp();
    });
  }

  /** Messages as they arrive, until the run ends; each once, to whichever of several readers takes it first. */
  async *messages(signal: AbortSignal): AsyncGenerator<Message> {
    const stop = () => this.wake();
    signal.addEventListener('abort', stop);
    try {
      for (;;) {
        const next = this.waiting.shift();
        if (next !== undefined) {
          this.listener.read(next.version);
          yield next.message;
          continue;
        }
        if (this.closed || signal.aborted) return;
        await new Promise<void>((resolve) => this.readers.add(resolve));
      }
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  close(): void {
    this.closed = true;
    this.subscription.unsubscribe();
    this.wake();
  }

  private wake(): void {
    for (const reader of this.readers) reader();
    this.readers.clear();
  }

  private take(events: readonly RecordedEvent[]): void {
    for (const event of events) {
      if (event.version <= this.seen) continue;
      this.seen = event.version;
      if (event.type === 'CancelRequested') this.listener.canceled();
      if (event.type === 'RunLost' || event.type === 'TaskCanceled') this.listener.taken();
      if (event.type === 'MessageAccepted' && event.content?.message !== undefined) {
        this.waiting.push({ version: event.version, message: event.content.message });
        this.wake();
      }
    }
  }

  private async catchUp(): Promise<void> {
    if (this.catchingUp) return;
    this.catchingUp = true;
    while (!this.closed && this.announced > this.seen) {
      // What was announced once is not announced again: while the database is away, only asking again finds it.
      const read = this.services.reader.events(this.tenantId, this.taskId, this.seen, PAGE);
      const events = await read.catch(() => null);
      if (events === null) await sleep(RETRY_MS);
      else if (events.length === 0) break;
      else this.take(events);
    }
    this.catchingUp = false;
  }
}
