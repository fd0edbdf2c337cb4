import { setTimeout as sleep } from 'node:timers/promises';
import { type A2aClient, ClientFailure, type UpstreamTaskSnapshot, type UpstreamUpdate } from '@app/client';
import { backoffMs, DomainError, isInterrupted, isTerminal, type Message } from '@app/domain';
import { type AgentContext, CancelRequested } from '../agents/agent.contract.js';
import { retryWhileUnreachable, type UnreachablePolicy } from './retry-while-unreachable.js';
import { UpstreamRecorder } from './upstream-recorder.js';
import { UpstreamSession } from './upstream-session.js';

export interface UpstreamTiming extends UnreachablePolicy {
  /** Limit for the upstream cancel in milliseconds. It is shorter than the grace period of a canceled run. */
  readonly cancelTimeoutMs: number;
}

export const UPSTREAM_TIMING: UpstreamTiming = {
  giveUpAfterMs: 30_000,
  backoffMs: 200,
  maxBackoffMs: 5_000,
  cancelTimeoutMs: 4_000,
};

const TASK_NOT_FOUND = -32001;
const INTERNAL_ERROR = -32603;

/**
 * One turn of a task that an upstream agent executes. Its updates are recorded, and the client's messages are forwarded.
 *
 * The upstream task is recorded as soon as its id is known, so that later runs and turns continue it. If a run is lost
 * between its send and the first response, the id is unknown. The next run looks for a task with the message in the context,
 * whose id Acta chose. If the agent cannot list tasks (A2A 0.3 has no such method) or does not list the task, the message is
 * sent again under the same id. The delivery is thus at least once, and exactly once if the agent recognizes a repeated id.
 */
export class UpstreamTurn {
  private readonly recorder: UpstreamRecorder;
  private readonly session: UpstreamSession;
  private readonly requests = new AbortController();
  /** Messages that are still to be sent, oldest first. */
  private pending: Message[] = [];
  private forwarding: Promise<void> = Promise.resolve();
  private forwardedCount = 0;
  private lastEventId: string | undefined;
  private canSubscribe: boolean;

  constructor(
    client: A2aClient,
    private readonly ctx: AgentContext,
    private readonly timing: UpstreamTiming,
  ) {
    this.recorder = new UpstreamRecorder(ctx);
    this.session = new UpstreamSession(client, ctx, this.requests.signal);
    this.canSubscribe = this.session.streams;
  }

  async run(): Promise<void> {
    const { signal } = this.ctx;
    const stop = () => {
      const canceled = signal.reason instanceof CancelRequested ? this.cancel() : Promise.resolve();
      void canceled.catch(() => undefined).finally(() => this.requests.abort(signal.reason));
    };
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    void this.forwardMessages().catch(() => undefined);
    try {
      await this.resume();
      await this.execute();
    } catch (error) {
      // The cancel may have returned the outcome meanwhile.
      if (this.recorder.outcome !== null && signal.aborted && isTerminal(this.recorder.outcome.state)) {
        return await this.recorder.recordOutcome();
      }
      signal.throwIfAborted();
      await this.fail(error);
    } finally {
      signal.removeEventListener('abort', stop);
      this.requests.abort(new Error('the turn has ended'));
    }
  }

  /** Continues where the previous run or turn stopped: finds the upstream task, and the messages that it has not received. */
  private async resume(): Promise<void> {
    const { message, history, attempt } = this.ctx;
    const messages = [...history.filter(({ role }) => role === 'user'), message];
    this.pending = messages;
    const task = await this.findTask(messages);
    if (task === undefined) return;
    const received = new Set([this.session.task?.messageId, ...task.messageIds]);
    const lastReceived = messages.findLastIndex((sent) => received.has(this.session.sentIdOf(sent)));
    this.pending = messages.slice(lastReceived + 1);
    if (lastReceived >= 0) await this.session.attach(task, this.session.sentIdOf(messages[lastReceived]!));
    // Artifacts of earlier turns stay in the view. Artifacts that a lost run published do not, so they are published again.
    if (this.pending.length === 0 || isTerminal(task.status.state)) await this.recorder.task(task);
    else if (attempt > 1) await this.recorder.artifacts(task.artifacts, false);
    this.recorder.setBaseline(task.artifacts);
  }

  private async findTask(messages: readonly Message[]): Promise<UpstreamTaskSnapshot | undefined> {
    const { session } = this;
    if (session.task !== null) return this.whileUnreachable(() => session.read({ withHistory: true }));
    if (this.ctx.lease.leaseGeneration === 1) return undefined;
    return this.whileUnreachable(() => session.find(messages.map((message) => session.sentIdOf(message))));
  }

  private async execute(): Promise<void> {
    const { recorder } = this;
    for (;;) {
      const hasEnded = recorder.outcome !== null && isTerminal(recorder.outcome.state);
      const next = hasEnded ? undefined : this.pending.shift();
      if (next !== undefined) {
        recorder.discardOutcome();
        await this.deliver(next);
      }
      const forwardedBefore = this.forwardedCount;
      await this.follow();
      if (isInterrupted(recorder.outcome!.state)) {
        await this.forwarding;
        // A message that was forwarded meanwhile may already be the response to the question.
        const forwarded = this.forwardedCount !== forwardedBefore;
        if (forwarded) recorder.discardOutcome();
        if (forwarded || this.pending.length > 0) continue;
      }
      return recorder.recordOutcome();
    }
  }

  /** Sends a message and records its updates until the connection ends. */
  private async deliver(message: Message): Promise<void> {
    const { session, recorder } = this;
    const sentId = session.sentIdOf(message);
    const hasArrived = () => session.task?.messageId === sentId || recorder.outcome !== null;
    let isRepeat = false;
    await this.whileUnreachable(async () => {
      if (isRepeat) {
        const task = await (session.task === null ? session.find([sentId]) : session.read({ withHistory: true }));
        if (task?.messageIds.includes(sentId) === true) return session.attach(task, sentId);
      }
      isRepeat = true;
      try {
        if (session.streams) await this.consume(session.stream(message), sentId);
        else await this.take(await session.send(message), sentId);
      } catch (error) {
        // After its first response the task is followed, and the message is not sent again.
        const connectionEnded = ClientFailure.is(error, 'unreachable') || ClientFailure.is(error, 'rejected');
        if (!(connectionEnded && hasArrived())) throw error;
      }
      if (!hasArrived()) throw new ClientFailure('unreachable', 'the stream ended before its first update');
    });
  }

  /** Records the updates of the task until the turn has its outcome: from its stream, or by polling. */
  private async follow(): Promise<void> {
    const { recorder, timing } = this;
    for (let attempt = 1; recorder.outcome === null;) {
      const { changeCount } = recorder;
      await this.whileUnreachable(() => (this.canSubscribe ? this.subscribe() : this.poll()));
      if (recorder.outcome !== null) return;
      attempt = recorder.changeCount > changeCount ? 1 : attempt + 1;
      await sleep(backoffMs(attempt, timing, Math.random()), undefined, { signal: this.requests.signal });
    }
  }

  private async subscribe(): Promise<void> {
    try {
      await this.consume(this.session.subscribe(this.lastEventId));
    } catch (error) {
      if (!ClientFailure.is(error, 'rejected') || error.code === TASK_NOT_FOUND) throw error;
      // The task has ended, or the agent cannot resume a stream, or it supports no subscriptions.
      if (this.lastEventId === undefined) this.canSubscribe = false;
      this.lastEventId = undefined;
      await this.poll();
    }
  }

  private async poll(): Promise<void> {
    await this.take({ type: 'task', task: await this.session.read({ withHistory: false }) });
  }

  /** Records the updates of a stream until it ends or the turn has its outcome. */
  private async consume(events: ReturnType<UpstreamSession['stream']>, sentId?: string): Promise<void> {
    for await (const { update, id } of events) {
      await this.take(update, sentId);
      this.lastEventId = id;
      if (this.recorder.outcome !== null) return;
    }
  }

  /** Records one update. `sentId`: the message that the update responds to. */
  private async take(update: UpstreamUpdate, sentId = this.session.task?.messageId): Promise<void> {
    const { session, recorder } = this;
    switch (update.type) {
      case 'message':
        if (session.task === null) recorder.outcome = { state: 'replied', message: update.message };
        else await recorder.status({ state: 'working', message: update.message });
        return;
      case 'task':
        await session.attach(update.task, sentId);
        return recorder.task(update.task);
      case 'artifact':
        await session.attach(update.ids, sentId);
        return recorder.chunk(update);
      case 'status':
        await session.attach(update.ids, sentId);
        return recorder.status(update.status);
      default:
        update satisfies never;
    }
  }

  /** Forwards the messages that arrive during the run. A rejected message is sent again when the agent requires input. */
  private async forwardMessages(): Promise<void> {
    for await (const message of this.ctx.messages()) {
      this.forwarding = this.session.assigned.then(() => this.forward(message));
      await this.forwarding;
    }
  }

  private async forward(message: Message): Promise<void> {
    const { session } = this;
    try {
      await session.send(message);
      this.forwardedCount += 1;
      if (!this.requests.signal.aborted) await session.attach(session.task!, session.sentIdOf(message));
    } catch {
      this.pending.push(message);
    }
  }

  private async cancel(): Promise<void> {
    const task = await this.session.cancel(AbortSignal.timeout(this.timing.cancelTimeoutMs));
    if (task !== undefined && isTerminal(task.status.state)) this.recorder.outcome ??= task.status;
  }

  private whileUnreachable<T>(work: () => Promise<T>): Promise<T> {
    return retryWhileUnreachable(work, this.timing, () => this.recorder.changeCount, this.requests.signal);
  }

  private async fail(error: unknown): Promise<void> {
    if (!(error instanceof ClientFailure)) throw error;
    const text = `the upstream agent cannot continue: ${error.message}`;
    switch (error.kind) {
      case 'unreachable':
        throw retryable(text);
      case 'rejected':
        if (error.code === INTERNAL_ERROR) throw retryable(text);
        return this.ctx.fail(text);
      case 'not-allowed':
        return this.ctx.fail(text);
      case 'invalid': {
        const { id: taskId } = this.ctx.task;
        throw new DomainError('InvalidAgentResponse', `invalid agent response: ${error.message}`, { taskId });
      }
      default:
        error.kind satisfies never;
    }
  }
}

const retryable = (text: string) => Object.assign(new Error(text), { retryable: true });
