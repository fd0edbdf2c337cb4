import type { Arrival, TurnInbox } from './agent-turn.js';

/** The messages of a run that its agent has not read yet. */
export class MessageQueue implements TurnInbox {
  private readonly unread: Arrival[] = [];
  private readonly waitingReaders = new Set<() => void>();
  private closed = false;

  constructor(readonly markRead: (version: number) => void) {}

  push(arrival: Arrival): void {
    this.unread.push(arrival);
    this.wakeReaders();
  }

  async *arrivals(signal: AbortSignal): AsyncGenerator<Arrival> {
    const onAbort = () => this.wakeReaders();
    signal.addEventListener('abort', onAbort);
    try {
      for (;;) {
        const next = this.unread.shift();
        if (next !== undefined) {
          yield next;
          continue;
        }
        if (this.closed || signal.aborted) return;
        await new Promise<void>((resolve) => this.waitingReaders.add(resolve));
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  close(): void {
    this.closed = true;
    this.wakeReaders();
  }

  private wakeReaders(): void {
    for (const wake of this.waitingReaders) wake();
    this.waitingReaders.clear();
  }
}
