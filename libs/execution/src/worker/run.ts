import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  activeRun,
  DomainError,
  type Message,
  type RecordedEvent,
  type RetryPolicy,
  retryAt,
  type Role,
  type RunOutput,
  TaskFold,
  textOf,
} from '@app/domain';
import { type Database, isUnavailable, type ServerSecret, type StreamHead } from '@app/storage';
import type { TaskReader, TaskWriter } from '@app/tasks';
import {
  type Agent,
  type AgentContext,
  type ArtifactInput,
  CancelRequested,
  type Saying,
} from '../agents/agent.contract.js';
import { MessageInbox } from './message-inbox.js';
import { RunWriter } from './run-writer.js';

/** A run that this process holds. */
export interface HeldRun {
  readonly tenantId: string;
  readonly taskId: string;
  readonly head: StreamHead;
  /** Events of the append that claimed it. */
  readonly events: readonly RecordedEvent[];
}

export interface RunServices {
  readonly database: Database;
  readonly streams: TaskWriter;
  readonly reader: TaskReader;
  readonly secret: ServerSecret;
  readonly onError: (error: unknown, run?: { tenantId: string; taskId: string; runId: string }) => void;
}

/** How long an agent whose run is lost or was canceled may take to notice, before the run goes on without it. */
const ABORT_GRACE_MS = 30_000;
const RETRY_MS = 50;

/** One attempt of an agent at one turn, from its claim to its outcome. */
export class Run {
  readonly runId: string;
  readonly tenantId: string;
  readonly taskId: string;
  readonly agent: string;
  private readonly aborter = new AbortController();
  private readonly writer: RunWriter;
  private readonly inbox: MessageInbox;
  private canceled = false;
  private released = false;
  private fenced = false;
  private giveUp: (() => void) | null = null;
  /** On this process's monotonic clock; the database decides by its own. */
  private leaseEnds: number;

  constructor(
    private readonly definition: Agent,
    private readonly retry: RetryPolicy,
    private readonly held: HeldRun,
    private readonly services: RunServices,
    leaseMs: number,
  ) {
    const run = activeRun(held.head.state);
    if (run === null) throw new Error(`task ${held.taskId} has no active run`);
    this.runId = run.id;
    this.tenantId = held.tenantId;
    this.taskId = held.taskId;
    this.agent = definition.name;
    this.leaseEnds = performance.now() + leaseMs;
    const { id: runId, leaseGeneration, dispatcherGeneration } = run;
    this.writer = new RunWriter(
      services.streams,
      services.secret,
      { tenantId: held.tenantId, taskId: held.taskId },
      definition.name,
      { runId, leaseGeneration, dispatcherGeneration },
      held.head,
      () => this.leaseRemains(),
      () => this.lose(),
    );
    const source = { reader: services.reader, wakeups: services.streams.wakeups };
    const { version } = held.head.state;
    this.inbox = new MessageInbox(
      source,
      { tenantId: held.tenantId, taskId: held.taskId, version },
      {
        onCancelRequested: () => this.cancel(),
        onRunLost: () => this.lose(),
        onMessageRead: (read) => {
          this.writer.readThrough = Math.max(this.writer.readThrough, read);
        },
      },
    );
  }

  leaseRemains(): boolean {
    return performance.now() < this.leaseEnds;
  }

  /** `sentAt`: when the heartbeat left, on the monotonic clock. */
  renewed(sentAt: number, leaseMs: number): void {
    this.leaseEnds = sentAt + leaseMs;
  }

  cancel(): void {
    if (this.canceled) return;
    this.canceled = true;
    this.aborter.abort(new CancelRequested('the task is being canceled'));
  }

  /** The lease is gone: whatever the agent still says is not recorded. */
  lose(): void {
    this.fenced = true;
    this.aborter.abort(
      new DomainError('Fenced', 'this run no longer holds the task; stop working on it', {
        taskId: this.taskId,
        leaseGeneration: 0,
        dispatcherGeneration: 0,
      }),
    );
  }

  /** Hands the run back: another worker takes it at once, and the attempt does not count. */
  release(): void {
    this.released = true;
    if (this.aborter.signal.aborted) this.giveUp?.();
    this.aborter.abort(new Error('the server is shutting down'));
  }

  /** Runs to the outcome. Never rejects: what goes wrong is an outcome, or a lease that someone else takes over. */
  async execute(): Promise<void> {
    try {
      const context = await this.context();
      await this.untilAborted(Promise.resolve().then(() => this.definition.run?.(context)));
      if (!this.writer.hasEnded) {
        // An agent that returns because it was told to stop has not completed its work.
        this.aborter.signal.throwIfAborted();
        await this.writer.write({ type: 'complete' });
      }
      await this.writer.flush();
    } catch (error) {
      // What was said before the error may be what cannot be recorded, and then the error cannot be either: that is an outcome.
      await this.conclude(error)
        .catch((refused: unknown) => this.conclude(refused))
        .catch((unrecorded: unknown) => {
          // That the run was taken away meanwhile is no error: whoever took it has recorded what became of it.
          if (!DomainError.is(unrecorded, 'Fenced')) this.services.onError(unrecorded, this);
        });
    } finally {
      this.inbox.close();
      if (!this.aborter.signal.aborted) this.aborter.abort(new Error('the run is over'));
    }
  }

  private async conclude(error: unknown): Promise<void> {
    if (this.fenced || DomainError.is(error, 'Fenced')) return;
    if (DomainError.is(error, 'InvalidAgentResponse')) {
      await this.writer.conclude({ type: 'fail', invalid: true, message: this.message(error.message) });
    } else if (this.writer.hasFailed) {
      this.services.onError(error, this);
      await this.writer.conclude({ type: 'fail', message: this.message('what the agent said cannot be recorded') });
    } else if (this.writer.hasEnded) {
      // The outcome stands; what an agent throws after it is the agent's own affair.
      await this.writer.flush();
    } else if (this.canceled) {
      await this.writer.write({ type: 'canceled' });
    } else if (this.released || isRetryable(error)) {
      const { attempts } = this.held.head.state;
      const notBefore = this.released
        ? new Date(0).toISOString()
        : retryAt(await this.databaseTime(), attempts, this.retry, Math.random());
      const reason = this.released ? 'released' : 'retryable-error';
      await this.writer.write({ type: 'lost', reason, retry: { maxAttempts: this.retry.attempts, notBefore } });
    } else {
      await this.writer.write({ type: 'fail', message: this.message(messageOf(error)) });
    }
  }

  /** An agent that ignores its signal must not hold a slot for ever. */
  private async untilAborted(work: Promise<void>): Promise<void> {
    const { signal } = this.aborter;
    let timer: NodeJS.Timeout | undefined;
    const wait = () => {
      timer = setTimeout(
        () => {
          // A canceled run has until the task's own deadline, whoever keeps it: then the run is fenced.
          if (this.canceled && !this.fenced && !this.released) wait();
          else this.giveUp!();
        },
        this.released ? 0 : ABORT_GRACE_MS,
      );
    };
    const patience = new Promise<never>((_, reject) => {
      this.giveUp = () => reject(signal.reason as Error);
      if (signal.aborted) wait();
      else signal.addEventListener('abort', wait, { once: true });
    });
    work.catch(() => undefined);
    patience.catch(() => undefined);
    await Promise.race([work, patience]).finally(() => {
      // The signal aborts once the run is over, too: a timer that it set then would keep the whole run in memory.
      signal.removeEventListener('abort', wait);
      clearTimeout(timer);
    });
  }

  private async context(): Promise<AgentContext> {
    const { head } = this.held;
    const { contextId, ring, owner } = head.state;
    const run = activeRun(head.state)!;
    const said = await this.conversation();
    const at = said.findLastIndex((message) => message.role === 'user');
    const message = said[at];
    if (message === undefined) throw new Error('the task has no message to work on');
    const say = (saying: Saying) => this.message(saying);
    const write = (output: RunOutput) => {
      const written = this.writer.write(output);
      // Whether to wait is up to the agent; a rejection that nobody hears would end the process, and all other runs in it.
      written.catch(() => undefined);
      return written;
    };
    return {
      task: { tenant: this.tenantId, id: this.taskId, contextId, ring, owner },
      message,
      history: said.filter((other) => other !== message),
      text: textOf(message),
      metadata: message.metadata ?? {},
      signal: this.aborter.signal,
      attempt: run.attempt,
      lease: {
        runId: run.id,
        worker: run.worker,
        leaseGeneration: run.leaseGeneration,
        dispatcherGeneration: run.dispatcherGeneration,
      },
      upstream: head.state.upstream ?? null,
      attach: ({ taskId, contextId: theirs, messageId }) =>
        write({ type: 'status', upstream: { taskId, contextId: theirs, messageId } }),
      working: (saying) => write(saying === undefined ? { type: 'status' } : { type: 'status', message: say(saying) }),
      artifact: (artifact) => write(this.artifact(artifact)),
      requireInput: (saying) => write({ type: 'input-required', message: say(saying) }),
      requireAuth: (saying) => write({ type: 'auth-required', message: say(saying) }),
      complete: (saying) =>
        write(saying === undefined ? { type: 'complete' } : { type: 'complete', message: say(saying) }),
      fail: (saying) => write({ type: 'fail', message: say(saying) }),
      reject: (saying) => write({ type: 'reject', message: say(saying) }),
      cancel: (saying) =>
        write(saying === undefined ? { type: 'canceled' } : { type: 'canceled', message: say(saying) }),
      reply: (saying) => write({ type: 'reply', message: say(saying) }),
      messages: () => this.inbox.messages(this.aborter.signal),
    };
  }

  /** What was said so far; from the events at hand when they are the whole stream, so that a new task costs no read. */
  private async conversation(): Promise<Message[]> {
    const { tenantId, taskId, head, events } = this.held;
    if (events[0]?.version === 1) {
      const fold = new TaskFold(tenantId, taskId);
      for (const event of events) fold.add(event);
      return fold.messages();
    }
    // As of the claim: what is said after it comes through the inbox, and must not come twice.
    const { reader } = this.services;
    return this.whileHeld(() => reader.conversation(tenantId, { taskId, state: head.state, key: head.key }));
  }

  /** Reads for the agent, again while the database is away: that is no failure of the agent's. */
  private async whileHeld<T>(read: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await read();
      } catch (error) {
        if (!isUnavailable(error)) throw error;
        if (!this.leaseRemains()) this.lose();
        this.aborter.signal.throwIfAborted();
        await sleep(RETRY_MS);
      }
    }
  }

  private databaseTime(): Promise<number> {
    return this.whileHeld(() => this.services.database.now());
  }

  private artifact(input: ArtifactInput): RunOutput {
    const { id = 'artifact', append, last = false, ...artifact } = input;
    if (!Array.isArray(artifact.parts) || artifact.parts.length === 0) {
      throw new DomainError('InvalidAgentResponse', `invalid agent response: artifact "${id}" has no parts`, {
        taskId: this.taskId,
      });
    }
    const goesOn = append !== false && this.writer.hasStarted(id);
    return {
      type: 'artifact',
      artifactId: id,
      artifact: { ...artifact, parts: [...artifact.parts] },
      append: goesOn,
      last,
    };
  }

  private message(saying: Saying, role: Role = 'agent'): Message {
    const said =
      typeof saying === 'string' ? { parts: [{ text: saying }] } : 'parts' in saying ? saying : { parts: saying };
    if (!Array.isArray(said.parts) || said.parts.length === 0) {
      throw new DomainError('InvalidAgentResponse', 'invalid agent response: a message without parts', {
        taskId: this.taskId,
      });
    }
    return { messageId: randomUUID(), role, ...said, parts: [...said.parts] };
  }
}

const isRetryable = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && (error as { retryable?: unknown }).retryable === true;

const messageOf = (error: unknown): string => {
  const text = error instanceof Error ? error.message : String(error);
  return text === '' ? 'the agent failed without saying why' : text;
};
