import { WINDOW_BYTES } from './protocol.js';

interface Waiting {
  readonly line: string;
  readonly bytes: number;
  readonly onSent: () => void;
  readonly onAcknowledged: () => void;
}

/**
 * Sends the lines of one run in order, with at most 256 KiB of them unacknowledged; a longer line is sent alone. The receiver
 * acknowledges numbers of lines.
 */
export class FlowControl {
  private readonly waiting: Waiting[] = [];
  private readonly unacknowledged: Waiting[] = [];
  private bytes = 0;

  constructor(private readonly sendLine: (line: string) => void) {}

  /** Resolves when the line is sent. */
  send(line: string): Promise<void> {
    return new Promise((resolve) => this.add(line, resolve, () => undefined));
  }

  /** Resolves when the line is acknowledged. */
  sendAndAwait(line: string): Promise<void> {
    return new Promise((resolve) => this.add(line, () => undefined, resolve));
  }

  acknowledge(count: number): void {
    for (const { bytes, onAcknowledged } of this.unacknowledged.splice(0, count)) {
      this.bytes -= bytes;
      onAcknowledged();
    }
    this.sendWaiting();
  }

  private add(line: string, onSent: () => void, onAcknowledged: () => void): void {
    this.waiting.push({ line, bytes: Buffer.byteLength(line), onSent, onAcknowledged });
    this.sendWaiting();
  }

  private sendWaiting(): void {
    for (let next = this.waiting[0]; next !== undefined; next = this.waiting[0]) {
      if (this.bytes > 0 && this.bytes + next.bytes > WINDOW_BYTES) return;
      this.waiting.shift();
      this.bytes += next.bytes;
      this.unacknowledged.push(next);
      this.sendLine(next.line);
      next.onSent();
    }
  }
}
