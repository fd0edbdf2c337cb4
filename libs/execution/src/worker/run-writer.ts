import { setTimeout as sleep } from 'node:timers/promises';
import { DomainError, encodedBytes, endsTurn, type Fence, fenced, type RunOutput } from '@app/domain';
import type { ServerSecret, StreamHead } from '@app/storage';
import type { TaskWriter } from '@app/tasks';

const COALESCE_MS = 100;
const COALESCE_BYTES = 16 * 1024;
const BUFFER_BYTES = 256 * 1024;
const RETRY_MS = 50;

/**
 * Writes what a run says, in order, each batch once, under the run's fence. The first chunk of an artifact goes at once;
 * what follows it is gathered for 100 ms or 16 KiB, so that a token stream is a few dozen events and not thousands.
 * Whatever an agent says in one breath (a chunk and its completion) is one append.
 */
export class RunWriter {
  private buffer: RunOutput[] = [];
  private buffered = 0;
  private seq = 0;
  private timer: NodeJS.Timeout | NodeJS.Immediate | null = null;
  private writing: Promise<void> | null = null;
  /** What was gathered is to be written as soon as the write under way is through. */
  private due = false;
  private failure: Error | null = null;
  private ended = false;
  private readonly started = new Set<string>();
  /** Version of the newest message that the agent has been given. */
  readThrough: number;

  constructor(
    private readonly streams: TaskWriter,
    private readonly secret: ServerSecret,
    private readonly task: { readonly tenantId: string; readonly taskId: string },
    private readonly agent: string,
    private readonly fence: Fence,
    private head: StreamHead,
    private readonly holdsLease: () => boolean,
    private readonly onFenced: (error: Error) => void,
  ) {
    this.readThrough = head.state.clientMessages.lastVersion;
  }

  /** Whether the turn has its outcome: said, though perhaps not written yet. */
  get hasEnded(): boolean {
    return this.ended;
  }

  /** Whether something could not be written: nothing further is then. */
  get hasFailed(): boolean {
    return this.failure !== null;
  }

  hasStarted(artifactId: string): boolean {
    return this.started.has(artifactId);
  }

  /** Takes over one output. Resolves when there is room for more; an outcome, when it is in the record. */
  async write(output: RunOutput): Promise<void> {
    if (this.failure !== null) throw this.failure;
    if (this.ended) throw new Error('the run has its outcome already and writes nothing more');
    // Throws on what is no JSON, before any of it is taken over.
    const size = encodedBytes(output.type === 'artifact' ? output.artifact : output);
    const first = output.type !== 'artifact' || !this.started.has(output.artifactId);
    if (output.type === 'artifact') this.started.add(output.artifactId);
    if (!this.mergeIntoLast(output)) this.buffer.push(output);
    this.buffered += size;
    if (endsTurn(output)) {
      this.ended = true;
      await this.flush();
      return;
    }
    this.schedule(first || this.buffered >= COALESCE_BYTES);
    if (this.buffered >= BUFFER_BYTES) await this.flush();
  }

  /** Everything said so far is in the record when this resolves. */
  async flush(): Promise<void> {
    this.unschedule();
    while (this.writing !== null || this.buffer.length > 0) await (this.writing ?? this.startWriting());
    if (this.failure !== null) throw this.failure;
  }

  /** Writes what has been gathered. What is said meanwhile gathers anew, and waits its own time. */
  private startWriting(): Promise<void> {
    this.due = false;
    this.writing = this.writeBatch().finally(() => {
      this.writing = null;
      if (this.due && this.buffer.length > 0) void this.startWriting();
    });
    return this.writing;
  }

  private schedule(atOnce: boolean): void {
    if (this.timer !== null) {
      if (!atOnce) return;
      this.unschedule();
    }
    const go = () => {
      this.timer = null;
      if (this.writing !== null) this.due = true;
      else if (this.buffer.length > 0) void this.startWriting();
    };
    this.timer = atOnce ? setImmediate(go) : setTimeout(go, COALESCE_MS);
  }

  private unschedule(): void {
    if (this.timer === null) return;
    clearTimeout(this.timer as NodeJS.Timeout);
    clearImmediate(this.timer as NodeJS.Immediate);
    this.timer = null;
  }

  /** A plain text chunk that goes on the text before it becomes one with it. */
  private mergeIntoLast(output: RunOutput): boolean {
    const last = this.buffer.at(-1);
    if (output.type !== 'artifact' || last?.type !== 'artifact') return false;
    if (!output.append || last.last || output.artifactId !== last.artifactId) return false;
    const { parts, ...named } = output.artifact;
    if (Object.keys(named).length > 0) return false;
    const artifact = { ...last.artifact, parts: [...last.artifact.parts] };
    for (const part of parts) {
      const before = artifact.parts.at(-1);
      if (before !== undefined && isPlainText(before) && isPlainText(part)) {
        artifact.parts[artifact.parts.length - 1] = { text: before.text! + part.text! };
      } else artifact.parts.push(part);
    }
    this.buffer[this.buffer.length - 1] = { ...last, artifact, last: output.last };
    return true;
  }

  private async writeBatch(): Promise<void> {
    const outputs = this.buffer;
    this.buffer = [];
    this.buffered = 0;
    if (this.failure !== null) return;
    this.seq += 1;
    try {
      await this.append(outputs);
    } catch (error) {
      this.fail(error as Error);
    }
  }

  /**
   * A connection that broke says nothing about whether the write was recorded: the same batch is sent again under the
   * same sequence number, which the record takes once, for as long as the lease holds. After that the run is lost, not
   * failed: what becomes of the task is up to whoever takes it back.
   */
  private async append(outputs: readonly RunOutput[]): Promise<void> {
    let head: StreamHead | undefined = this.head;
    for (;;) {
      try {
        const { runId } = this.fence;
        const applied = await this.streams.apply(
          {
            ...this.task,
            actor: { subject: this.agent, role: 'agent' },
            commandId: `run:${runId}:${this.seq}`,
            fingerprint: this.secret.hmac('fingerprint', JSON.stringify(outputs)),
            fence: this.fence,
          },
          { type: 'RecordRun', fence: this.fence, seq: this.seq, readThrough: this.readThrough, outputs },
          head,
        );
        this.head = applied.outcome === 'applied' ? applied.head : this.head;
        return;
      } catch (error) {
        if (error instanceof DomainError && error.kind !== 'Overloaded') throw error;
        if (!mayPass(error)) throw error;
        if (!this.holdsLease()) throw fenced(this.head.state, this.task.taskId);
        head = undefined;
        await sleep(RETRY_MS);
      }
    }
  }

  private fail(error: Error): void {
    this.failure = error;
    this.buffer = [];
    if (DomainError.is(error, 'Fenced')) this.onFenced(error);
  }

  /**
   * Breaks off with an output that replaces whatever could not be written (an answer that broke the contract). A write that
   * is under way ends first: were it to fail after this, it would take this along.
   */
  async conclude(output: RunOutput): Promise<void> {
    this.ended = true;
    this.unschedule();
    this.buffer = [];
    await this.writing;
    this.failure = null;
    this.buffer = [output];
    await this.flush();
  }
}

/**
 * Whether the same write may succeed later: the connection broke, or the server is busy, full or stopping (the classes of
 * SQLSTATE that say so). Anything else would fail for ever.
 */
function mayPass(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof RangeError) return false;
  const { code, severity } = error as { code?: string; severity?: string };
  return severity === undefined || /^(08|40|53|55|57|58)/.test(code ?? '');
}

const isPlainText = (part: { text?: string }): boolean => part.text !== undefined && Object.keys(part).length === 1;
