import {
  type A2aClient,
  ClientFailure,
  type OutgoingMessage,
  type UpstreamIds,
  type UpstreamTaskSnapshot,
  type UpstreamUpdate,
} from '@app/client';
import { derivedId, type Message, type MessageRequest, type UpstreamTask } from '@app/domain';
import type { AgentContext } from '../agents/agent.contract.js';

/** Number of a task's newest messages whose ids are compared with the sent ones. */
const HISTORY_LENGTH = 100;

type UpstreamEvents = ReturnType<A2aClient['stream']>;

/** The upstream task of a turn: its ids, and the requests about it. */
export class UpstreamSession {
  /** Whether the upstream agent streams updates. */
  readonly streams: boolean;
  /** Resolves when the upstream agent has assigned the task its id. */
  readonly assigned: Promise<void>;
  private resolveAssigned!: () => void;
  private upstream: UpstreamTask | null;
  private readonly contextId: string;

  private readonly client: A2aClient;

  constructor(
    /** Its requests continue the trace of the turn, and name the extensions of the client. */
    private readonly agent: A2aClient,
    private readonly ctx: AgentContext,
    /** Ends all requests except the cancel. */
    private readonly signal: AbortSignal,
  ) {
    const { tenant, owner, ring, contextId } = ctx.task;
    this.client = agent.within(ctx.request);
    this.streams = agent.card.streaming;
    this.upstream = ctx.upstream;
    // Tenants and owners may use the same context id, so all of them are part of the upstream context id.
    this.contextId = ctx.upstream?.contextId ?? derivedId('upstream-context', tenant, owner, ring, contextId);
    this.assigned = new Promise((resolve) => {
      this.resolveAssigned = resolve;
    });
    if (this.upstream !== null) this.resolveAssigned();
  }

  get task(): UpstreamTask | null {
    return this.upstream;
  }

  /** Returns the id under which a message is sent. Every run that sends the message uses the same id. */
  sentIdOf({ messageId }: Message): string {
    return derivedId('upstream', this.ctx.task.id, messageId);
  }

  /**
   * Records the upstream task, and the newest message that it has received. Errors: ClientFailure, if the ids are those of a
   * different task.
   */
  async attach({ taskId, contextId = this.contextId }: UpstreamIds, messageId = ''): Promise<void> {
    const { upstream } = this;
    if (upstream !== null && upstream.taskId !== taskId) {
      throw new ClientFailure('invalid', `the response is about task "${taskId}" instead of "${upstream.taskId}"`);
    }
    if (upstream?.messageId === messageId) return;
    this.upstream = { taskId, contextId, messageId };
    this.resolveAssigned();
    await this.ctx.attach(this.upstream);
  }

  stream(message: Message): UpstreamEvents {
    const request = this.requestOf(message);
    return this.agent.within(request).stream(this.outgoing(message, request), this.signal);
  }

  /**
   * Sends a message and returns without waiting for the outcome, whatever the client requested: the outcome is read later, and
   * no connection must stay open until then.
   */
  send(message: Message): Promise<UpstreamUpdate> {
    const request = this.requestOf(message);
    const configuration = { ...request.configuration, returnImmediately: true };
    return this.agent.within(request).send(this.outgoing(message, { ...request, configuration }), this.signal);
  }

  subscribe(lastEventId: string | undefined): UpstreamEvents {
    return this.client.subscribe(this.upstream!.taskId, this.signal, lastEventId);
  }

  /** Returns the task. `withHistory`: also the ids of its newest messages. */
  read({ withHistory }: { readonly withHistory: boolean }): Promise<UpstreamTaskSnapshot> {
    return this.client.getTask(this.upstream!.taskId, withHistory ? HISTORY_LENGTH : 0, this.signal);
  }

  /**
   * Returns the task that one of the sent messages has created, if the upstream agent can list tasks. Only the newest tasks
   * of the context are searched, because a lost run is retried soon.
   */
  async find(sentIds: readonly string[]): Promise<UpstreamTaskSnapshot | undefined> {
    const tasks = await this.client.listTasks(this.contextId, this.signal).catch((error: unknown) => {
      if (ClientFailure.is(error, 'rejected')) return [];
      throw error;
    });
    const found = tasks.find((task) => task.messageIds.some((id) => sentIds.includes(id)));
    // The list contains no artifacts.
    return found && this.client.getTask(found.taskId, HISTORY_LENGTH, this.signal);
  }

  /** Cancels the task, if it is assigned before the limit. Returns the task; undefined if there is none. */
  async cancel(limit: AbortSignal): Promise<UpstreamTaskSnapshot | undefined> {
    const limitReached = new Promise<void>((resolve) => {
      limit.addEventListener('abort', () => resolve(), { once: true });
    });
    await Promise.race([this.assigned, limitReached]);
    if (this.upstream === null) return undefined;
    const { taskId } = this.upstream;
    // A rejected cancel may mean that the task has ended. Its outcome is kept then.
    return this.client.cancelTask(taskId, limit).catch(() => this.client.getTask(taskId, 0, limit));
  }

  /** Returns the request that brought a message, in the trace of the turn. */
  private requestOf(message: Message): MessageRequest {
    const { request } = this.ctx;
    const { trace: _, ...sent } = this.ctx.requestOf(message) ?? request;
    return request.trace === undefined ? sent : { ...sent, trace: request.trace };
  }

  private outgoing(message: Message, { metadata, configuration }: MessageRequest): OutgoingMessage {
    // The upstream agent does not know the ids of other tasks.
    const { referenceTaskIds: _, ...content } = message;
    const { contextId, upstream } = this;
    const target = upstream === null ? { contextId } : { contextId: upstream.contextId, taskId: upstream.taskId };
    const { acceptedOutputModes, returnImmediately, historyLength = 0 } = configuration;
    return {
      message: { ...content, messageId: this.sentIdOf(message) },
      ...target,
      ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
      configuration: { acceptedOutputModes, returnImmediately, historyLength },
    };
  }
}
