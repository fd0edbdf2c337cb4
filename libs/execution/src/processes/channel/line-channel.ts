import type { Duplex } from 'node:stream';

/** A line longer than this comes from a process that does not keep to the protocol. */
const MAX_LINE = 64 * 1024 * 1024;

interface LineReader<In> {
  onMessage(message: In): void;
  /** All messages of one read were passed on. */
  onBatchEnd(): void;
  /** What was received is no message. */
  onInvalid(error: Error): void;
}

/** Exchanges messages as lines of JSON. What is sent in one turn of the event loop is one write. */
export class LineChannel<Out extends object, In extends object> {
  private outgoing: string[] = [];
  private incoming = '';
  private scheduled = false;
  private beforeWrite: (() => void)[] = [];

  constructor(
    private readonly stream: Duplex,
    private readonly reader: LineReader<In>,
  ) {
    stream.setEncoding('utf8');
    stream.on('data', (text: string) => this.receive(text));
    // The end of the other process is reported by its exit, or by the end of the stream.
    stream.on('error', () => undefined);
  }

  send(message: Out): void {
    this.sendLine(JSON.stringify(message));
  }

  /** Sends a message that is encoded already. */
  sendLine(line: string): void {
    this.outgoing.push(line, '\n');
    this.schedule();
  }

  /** Calls back once before the next write, so that several acknowledgements can become one message. */
  onNextWrite(callback: () => void): void {
    this.beforeWrite.push(callback);
    this.schedule();
  }

  /** Writes now what was sent before. */
  flush(): void {
    for (const callback of this.beforeWrite.splice(0)) callback();
    this.scheduled = false;
    if (this.outgoing.length === 0) return;
    const text = this.outgoing.join('');
    this.outgoing = [];
    if (!this.stream.destroyed && this.stream.writable) this.stream.write(text);
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    setImmediate(() => {
      if (this.scheduled) this.flush();
    });
  }

  private receive(text: string): void {
    try {
      let start = 0;
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
        const line = this.incoming + text.slice(start, end);
        this.incoming = '';
        start = end + 1;
        this.reader.onMessage(JSON.parse(line) as In);
      }
      this.incoming += text.slice(start);
      if (this.incoming.length > MAX_LINE) throw new Error(`a line has more than ${MAX_LINE} characters`);
      this.reader.onBatchEnd();
    } catch (error) {
      this.reader.onInvalid(error as Error);
    }
  }
}
