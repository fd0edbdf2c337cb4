import { setTimeout as sleep } from 'node:timers/promises';
import { type A2aClient, ClientFailure, type UpstreamIds, type UpstreamTaskSnapshot, type UpstreamUpdate } from '@app/client';
import { derivedId, DomainError, isInterrupted, isTerminal, type Message, type UpstreamTask } from '@app/domain';
import { type AgentContext, CancelRequested } from '../agents/agent.contract.js';
import { UpstreamMirror } from './upstream-mirror.js';
import { patiently, type PatienceTiming } from './retry-while-unreachable.js';

export interface UpstreamTiming extends PatienceTiming {
  /** How long its cancel may take. Shorter than what is left of a canceled run. */
  readonly cancelMs: number;
}

export const UPSTREAM_TIMING: UpstreamTiming = { patienceMs: 30_000, waitMs: 200, maxWaitMs: 5_000, cancelMs: 4_000 };

const TASK_NOT_FOUND = -32001;
const INTERNAL_ERROR = -32603;
/** Messages of a task whose ids are looked at. */
const HISTORY = 100;

/**
 * One turn of a task whose work another agent does. What that agent says is recorded here; what the client says is sent on.
 *
 * The upstream task is recorded as soon as it has a name, so that the next run, and the next turn, go on there. A run that was lost
 * between its send and the first answer leaves no name: its successor looks in the context, whose id was chosen here, for a
 * task that has the message. Where that cannot be asked (v0.3 has no list) or tells nothing, the message is sent again
 * under the same id: at least once, and once with an agent that knows a repeated id for what it is.
 */
export class UpstreamTurn {
  private readonly mirror: UpstreamMirror;
  private readonly calls = new AbortController();
  private readonly contextId: string;
  private upstream: UpstreamTask | null;
  private pending: Message[] = [];
  private forwarding: Promise<void> = Promise.resolve();
  private forwarded = 0;
  private lastEventId: string | undefined;
  private subscribes: boolean;
  private name!: () => void;
  private readonly named = new Promise<void>((resolve) => {
    this.name = resolve;
  });

  constructor(
    private readonly client: A2aClient,
    private readonly ctx: AgentContext,
    private readonly timing: UpstreamTiming,
  ) {
    const { tenant, owner, ring, contextId } = ctx.task;
    this.mirror = new UpstreamMirror(ctx);
    this.upstream = ctx.upstream;
    this.subscribes = client.card.streaming;
    // One conversation here is one there, and nobody else's: contexts of other tenants and owners may have the same name.
    this.contextId = ctx.upstream?.contextId ?? derivedId('upstream-context', tenant, owner, ring, contextId);
    if (this.upstream !== null) this.name();
  }

  async run(): Promise<void> {
    const { signal } = this.ctx;
    const stop = () => {
      const called = signal.reason instanceof CancelRequested ? this.cancel() : Promise.resolve();
      void called.catch(() => undefined).finally(() => this.calls.abort(signal.reason));
    };
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    void this.forwardLater().catch(() => undefined);
    try {
      await this.lookForTask();
      await this.work();
    } catch (error) {
      // The cancel may have got an answer meanwhile.
      if (this.mirror.outcome !== null && signal.aborted && isTerminal(this.mirror.outcome.state)) {
        return await this.mirror.conclude();
      }
      signal.throwIfAborted();
      await this.giveUp(error);
    } finally {
      signal.removeEventListener('abort', stop);
      this.calls.abort(new Error('the turn is over'));
    }
  }

  /** What a run before this one has left: the upstream task, and which messages it has. */
  private async lookForTask(): Promise<void> {
    const { message, history, lease, attempt } = this.ctx;
    const said = [...history.filter(({ role }) => role === 'user'), message];
    this.pending = said;
    let task: UpstreamTaskSnapshot | undefined;
    if (this.upstream !== null) task = await this.patiently(() => this.read(HISTORY));
    else if (lease.leaseGeneration > 1) task = await this.patiently(() => this.search(said.map((m) => this.sentAs(m))));
    if (task === undefined) return;
    const has = new Set([this.upstream?.messageId, ...task.messageIds]);
    const last = said.findLastIndex((m) => has.has(this.sentAs(m)));
    this.pending = said.slice(last + 1);
    if (last >= 0) await this.attach(task, this.sentAs(said[last]!));
    // A follow-up finds the task at rest; what it published in earlier turns stands. What a lost run published does not.
    if (this.pending.length === 0 || isTerminal(task.status.state)) await this.mirror.task(task);
    else if (attempt > 1) await this.mirror.artifacts(task.artifacts, false);
    this.mirror.knows(task.artifacts);
  }

  private async work(): Promise<void> {
    const { mirror } = this;
    for (;;) {
      const next = mirror.outcome !== null && isTerminal(mirror.outcome.state) ? undefined : this.pending.shift();
      if (next !== undefined) {
        mirror.forget();
        await this.deliver(next);
      }
      const heard = this.forwarded;
      await this.follow();
      if (isInterrupted(mirror.outcome!.state)) {
        // What was sent on meanwhile may be the answer already; what was refused is sent now.
        await this.forwarding;
        if (this.forwarded !== heard) mirror.forget();
        if (this.forwarded !== heard || this.pending.length > 0) continue;
      }
      return mirror.conclude();
    }
  }

  /** Sends a message and records what comes of it, until the connection ends. */
  private async deliver(message: Message): Promise<void> {
    const messageId = this.sentAs(message);
    const arrived = () => this.upstream?.messageId === messageId || this.mirror.outcome !== null;
    let unanswered = false;
    await this.patiently(async () => {
      if (unanswered) {
        const task = await (this.upstream === null ? this.search([messageId]) : this.read(HISTORY));
        if (task?.messageIds.includes(messageId) === true) return this.attach(task, messageId);
      }
      unanswered = true;
      try {
        if (this.client.card.streaming) {
          for await (const { update, id } of this.client.stream(this.outgoing(message, false), this.calls.signal)) {
            await this.take(update, messageId);
            this.lastEventId = id;
            if (this.mirror.outcome !== null) return;
          }
        } else await this.take(await this.client.send(this.outgoing(message, true), this.calls.signal), messageId);
      } catch (error) {
        // What broke off after its first answer is followed, not sent again: the task says how it stands.
        const brokeOff = ClientFailure.is(error, 'unreachable') || ClientFailure.is(error, 'rejected');
        if (!(brokeOff && arrived())) throw error;
      }
      if (!arrived()) throw new ClientFailure('unreachable', 'the stream ended before it said anything');
    });
  }

  /** Records what happens to the task until the turn has its outcome: from its stream, or by asking again and again. */
  private async follow(): Promise<void> {
    const { waitMs, maxWaitMs } = this.timing;
    for (let wait = waitMs; this.mirror.outcome === null;) {
      const { news } = this.mirror;
      await this.patiently(() => (this.subscribes ? this.listen() : this.look()));
      if (this.mirror.outcome !== null) return;
      wait = this.mirror.news > news ? waitMs : Math.min(wait * 2, maxWaitMs);
      await sleep(wait, undefined, { signal: this.calls.signal });
    }
  }

  private async listen(): Promise<void> {
    const { taskId } = this.upstream!;
    try {
      for await (const { update, id } of this.client.subscribe(taskId, this.calls.signal, this.lastEventId)) {
        await this.take(update);
        this.lastEventId = id;
        if (this.mirror.outcome !== null) return;
      }
    } catch (error) {
      if (!ClientFailure.is(error, 'rejected') || error.code === TASK_NOT_FOUND) throw error;
      // It has ended, or cannot be resumed from there, or not be subscribed to at all.
      if (this.lastEventId === undefined) this.subscribes = false;
      this.lastEventId = undefined;
      await this.look();
    }
  }

  private async look(): Promise<void> {
    await this.take({ type: 'task', task: await this.read(0) });
  }

  private read(historyLength: number): Promise<UpstreamTaskSnapshot> {
    return this.client.getTask(this.upstream!.taskId, historyLength, this.calls.signal);
  }

  /** The task that one of these messages made. Among the newest of its context: no run is lost for long. */
  private async search(messageIds: readonly string[]): Promise<UpstreamTaskSnapshot | undefined> {
    const tasks = await this.client.listTasks(this.contextId, this.calls.signal).catch((error: unknown) => {
      if (ClientFailure.is(error, 'rejected')) return [];
      throw error;
    });
    const found = tasks.find((task) => task.messageIds.some((id) => messageIds.includes(id)));
    // A list has no artifacts.
    return found && this.client.getTask(found.taskId, HISTORY, this.calls.signal);
  }

  /** `messageId`: of the message whose answer this is. */
  private async take(update: UpstreamUpdate, messageId = this.upstream?.messageId): Promise<void> {
    switch (update.type) {
      case 'message':
        if (this.upstream === null) this.mirror.outcome = { state: 'replied', message: update.message };
        else await this.mirror.status({ state: 'working', message: update.message });
        return;
      case 'task':
        await this.attach(update.task, messageId);
        return this.mirror.task(update.task);
      case 'artifact':
        await this.attach(update.ids, messageId);
        return this.mirror.chunk(update);
      case 'status':
        await this.attach(update.ids, messageId);
        return this.mirror.status(update.status);
    }
  }

  /** Records where the work is done, and which message has arrived there. */
  private async attach({ taskId, contextId = this.contextId }: UpstreamIds, messageId = ''): Promise<void> {
    const { upstream } = this;
    if (upstream !== null && upstream.taskId !== taskId) {
      throw new ClientFailure('invalid', `its answer is about task "${taskId}" and not about "${upstream.taskId}"`);
    }
    if (upstream?.messageId === messageId) return;
    this.upstream = { taskId, contextId, messageId };
    this.name();
    await this.ctx.attach(this.upstream);
  }

  /** Messages that come while the agent works are sent on; what it refuses waits until it asks for something. */
  private async forwardLater(): Promise<void> {
    for await (const message of this.ctx.messages()) {
      this.forwarding = this.named.then(() => this.forward(message));
      await this.forwarding;
    }
  }

  private async forward(message: Message): Promise<void> {
    try {
      await this.client.send(this.outgoing(message, true), this.calls.signal);
      this.forwarded += 1;
      if (!this.calls.signal.aborted) await this.attach(this.upstream!, this.sentAs(message));
    } catch {
      this.pending.push(message);
    }
  }

  private async cancel(): Promise<void> {
    const limit = AbortSignal.timeout(this.timing.cancelMs);
    const late = new Promise<void>((resolve) => limit.addEventListener('abort', () => resolve(), { once: true }));
    await Promise.race([this.named, late]);
    if (this.upstream === null) return;
    const { taskId } = this.upstream;
    // Refused: it may have ended first, and then its outcome stands.
    const { status } = await this.client.cancelTask(taskId, limit).catch(() => this.client.getTask(taskId, 0, limit));
    if (isTerminal(status.state)) this.mirror.outcome ??= status;
  }

  private outgoing(message: Message, returnImmediately: boolean) {
    // Ids of other tasks mean nothing there.
    const { referenceTaskIds: _, ...said } = message;
    const { contextId, upstream } = this;
    const to = upstream === null ? { contextId } : { contextId: upstream.contextId, taskId: upstream.taskId };
    return { message: { ...said, messageId: this.sentAs(message) }, ...to, returnImmediately };
  }

  /** The same for every run that sends it. */
  private sentAs({ messageId }: Message): string {
    return derivedId('upstream', this.ctx.task.id, messageId);
  }

  private patiently<T>(work: () => Promise<T>): Promise<T> {
    return patiently(work, this.timing, () => this.mirror.news, this.calls.signal);
  }

  private async giveUp(error: unknown): Promise<void> {
    if (!(error instanceof ClientFailure)) throw error;
    const why = `the upstream agent cannot go on: ${error.message}`;
    const mayPass = error.kind === 'unreachable' || error.code === INTERNAL_ERROR;
    if (mayPass) throw Object.assign(new Error(why), { retryable: true });
    if (error.kind === 'invalid') {
      const { id: taskId } = this.ctx.task;
      throw new DomainError('InvalidAgentResponse', `invalid agent response: ${error.message}`, { taskId });
    }
    await this.ctx.fail(why);
  }
}
