import { DomainError, encodedBytes, endsTurn, type Fence, fenced, type RunOutput } from '@app/domain';
import { type Database, isUnavailable, sqlStateOf, type TaskHead } from '@app/storage';
import type { TaskWriter } from '@app/tasks';
import { retryWhile } from '../queue/retry-while.js';

const COALESCE_MS = 100;
const COALESCE_BYTES = 16 * 1024;
const BUFFER_BYTES = 256 * 1024;

interface RunWriterServices {
  readonly writer: Pick<TaskWriter, 'apply'>;
  readonly database: Pick<Database, 'keys'>;
}

interface RunWriterTask {
  readonly tenantId: string;
  readonly taskId: string;
  readonly agent: string;
  readonly fence: Fence;
  readonly head: TaskHead;
}

interface RunLease {
  readonly isHeld: () => boolean;
  readonly onFenced: (error: Error) => void;
}

/**
 * Writes the outputs of a run in order, each batch once, under the fence of the run. The first chunk of an artifact is
 * written immediately. Later chunks are collected for 100 ms or 16 KiB, so that a stream of tokens becomes a few dozen
 * events and not thousands. Outputs that an agent makes in one go (a chunk and its completion) are one append.
 */
export class RunWriter {
  private buffer: RunOutput[] = [];
  private bufferedBytes = 0;
  private seq = 0;
  private timer: NodeJS.Timeout | NodeJS.Immediate | null = null;
  private writing: Promise<void> | null = null;
  /** The buffer must be written as soon as the current write has ended. */
  private due = false;
  private failure: Error | null = null;
  private ended = false;
  private head: TaskHead;
  private readonly startedArtifacts = new Set<string>();
  /** Version of the newest message that the agent has received. */
  readThrough: number;

  constructor(
    private readonly services: RunWriterServices,
    private readonly task: RunWriterTask,
    private readonly lease: RunLease,
  ) {
    this.head = task.head;
    this.readThrough = task.head.state.clientMessages.lastVersion;
  }

  /** Whether the agent has set the outcome of the turn, which may not be written yet. */
  get hasEnded(): boolean {
    return this.ended;
  }

  /** Whether a write has failed, so that nothing more is written. */
  get hasFailed(): boolean {
    return this.failure !== null;
  }

  hasStarted(artifactId: string): boolean {
    return this.startedArtifacts.has(artifactId);
  }

  /** Accepts one output. Resolves when the buffer has space for more, or for an outcome when it is recorded. */
  async write(output: RunOutput): Promise<void> {
    if (this.failure !== null) throw this.failure;
    if (this.ended) throw new Error('the run already has an outcome and cannot write more output');
    // Throws for a value that JSON cannot represent, before any of it is buffered.
    const size = encodedBytes(output.type === 'artifact' ? output.artifact : output);
    const isFirst = output.type !== 'artifact' || !this.startedArtifacts.has(output.artifactId);
    if (output.type === 'artifact') this.startedArtifacts.add(output.artifactId);
    if (!this.mergeIntoLast(output)) this.buffer.push(output);
    this.bufferedBytes += size;
    if (endsTurn(output)) {
      this.ended = true;
      await this.flush();
      return;
    }
    this.schedule(isFirst || this.bufferedBytes >= COALESCE_BYTES);
    if (this.bufferedBytes >= BUFFER_BYTES) await this.flush();
  }

  /** Resolves when all outputs so far are recorded. */
  async flush(): Promise<void> {
    this.unschedule();
    while (this.writing !== null || this.buffer.length > 0) await (this.writing ?? this.startWriting());
    if (this.failure !== null) throw this.failure;
  }

  /**
   * Ends the run with an output that replaces everything that is not recorded (for example, after invalid output). A write
   * that has started ends first, because its failure would also fail a later write.
   */
  async recordOutcome(output: RunOutput): Promise<void> {
    this.ended = true;
    this.unschedule();
    this.buffer = [];
    await this.writing;
    this.failure = null;
    this.buffer = [output];
    await this.flush();
  }

  /** Writes the buffer. Outputs that come meanwhile are collected in a new buffer, for their own time. */
  private startWriting(): Promise<void> {
    this.due = false;
    this.writing = this.writeBatch().finally(() => {
      this.writing = null;
      if (this.due && this.buffer.length > 0) void this.startWriting();
    });
    return this.writing;
  }

  private schedule(immediately: boolean): void {
    if (this.timer !== null) {
      if (!immediately) return;
      this.unschedule();
    }
    const onTimer = () => {
      this.timer = null;
      if (this.writing !== null) this.due = true;
      else if (this.buffer.length > 0) void this.startWriting();
    };
    this.timer = immediately ? setImmediate(onTimer) : setTimeout(onTimer, COALESCE_MS);
  }

  private unschedule(): void {
    if (this.timer === null) return;
    clearTimeout(this.timer as NodeJS.Timeout);
    clearImmediate(this.timer as NodeJS.Immediate);
    this.timer = null;
  }

  /** Appends a chunk to the last buffered chunk of the same artifact. Consecutive plain texts become one part. */
  private mergeIntoLast(output: RunOutput): boolean {
    const last = this.buffer.at(-1);
    if (output.type !== 'artifact' || last?.type !== 'artifact') return false;
    if (!output.append || last.last || output.artifactId !== last.artifactId) return false;
    const { parts, ...fields } = output.artifact;
    if (Object.keys(fields).length > 0) return false;
    const artifact = { ...last.artifact, parts: [...last.artifact.parts] };
    for (const part of parts) {
      const previous = artifact.parts.at(-1);
      if (previous !== undefined && isPlainText(previous) && isPlainText(part)) {
        artifact.parts[artifact.parts.length - 1] = { text: previous.text! + part.text! };
      } else artifact.parts.push(part);
    }
    this.buffer[this.buffer.length - 1] = { ...last, artifact, last: output.last };
    return true;
  }

  private async writeBatch(): Promise<void> {
    const outputs = this.buffer;
    this.buffer = [];
    this.bufferedBytes = 0;
    if (this.failure !== null) return;
    this.seq += 1;
    try {
      await this.append(outputs);
    } catch (error) {
      this.fail(error as Error);
    }
  }

  /**
   * After a lost connection it is unknown whether the write was recorded. The same batch is written again with the same
   * sequence number, which is recorded once, as long as the lease lasts. After that the run is lost and not failed, because
   * the run that reclaims the task decides its outcome.
   */
  private async append(outputs: readonly RunOutput[]): Promise<void> {
    const { writer, database } = this.services;
    const { tenantId, taskId, agent, fence } = this.task;
    const { seq } = this;
    const envelope = {
      tenantId,
      taskId,
      actor: { subject: agent, role: 'agent' },
      commandId: `run:${fence.runId}:${seq}`,
      fingerprint: database.keys.fingerprint(JSON.stringify(outputs)),
      fence,
    } as const;
    let known: TaskHead | undefined = this.head;
    const mayRetry = (error: unknown) => {
      if (!mayPass(error)) return false;
      if (!this.lease.isHeld()) throw fenced(this.head.state, taskId);
      known = undefined;
      return true;
    };
    await retryWhile(mayRetry, async () => {
      const { readThrough } = this;
      const applied = await writer.apply(envelope, { type: 'RecordRun', fence, seq, readThrough, outputs }, known);
      this.head = applied.outcome === 'applied' ? applied.head : this.head;
    });
  }

  private fail(error: Error): void {
    this.failure = error;
    this.buffer = [];
    if (DomainError.is(error, 'Fenced')) this.lease.onFenced(error);
  }
}

/** Returns whether the same write may succeed later: the database or its connection is unavailable, or the server is overloaded. */
function mayPass(error: unknown): boolean {
  if (error instanceof DomainError) return error.kind === 'Overloaded';
  if (error instanceof TypeError || error instanceof RangeError) return false;
  return sqlStateOf(error) === undefined || isUnavailable(error);
}

const isPlainText = (part: { text?: string }): boolean => part.text !== undefined && Object.keys(part).length === 1;
