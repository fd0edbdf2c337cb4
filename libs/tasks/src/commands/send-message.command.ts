import {
  contextIdOf,
  DomainError,
  invalidField,
  type Message,
  newId,
  type Principal,
  type PushTarget,
  taskIdOf,
  taskNotFound,
  type AgentProfile,
} from '@app/domain';
import type { Receipt } from '@app/event-log';
import { ServerSecret, type StreamHead } from '@app/storage';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import canonicalize from 'canonicalize';
import { requireAcceptedParts } from './accepted-modes.js';
import { Admission } from './admission.js';
import { AgentDirectory, RunSlots, type RunSlot } from '../ports.js';
import { type NewPushConfig, webhookOf } from '../push-configs/push-configs.js';
import { PushPolicy } from '../push-configs/push-policy.js';
import { ringOf } from '../access/ring-of-message.js';
import { TaskFollower } from '../following/task-follower.js';
import { TaskReader } from '../queries/task-reader.js';
import { type CommandEnvelope, newInternalCommandId, TaskWriter } from './task-writer.js';
import { isThere } from '../access/visible-task.js';

export interface SendMessageRequest {
  readonly message: Message;
  readonly taskId?: string;
  readonly contextId?: string;
  /** The agent of a new task, and the only one whose tasks can be meant; absent: the default one, and any. */
  readonly agent?: string;
  /** The caller is answered before any outcome, so a bare reply must become a completion. */
  readonly acknowledged: boolean;
  readonly protocolVersion?: string;
  readonly traceParent?: string;
  /** A webhook that is told of the task from its first event on. A replay has the webhook of the first send. */
  readonly push?: NewPushConfig;
}

/** What became of a message: the task that has it now, and how to follow it from there. */
export interface SentMessage {
  readonly taskId: string;
  /** The task as it was right after the message; for a replay, as it is now. */
  readonly head: StreamHead;
  /** Follows the task from this message on; whoever does not use it must close it. */
  readonly follower: TaskFollower;
}

/**
 * Takes in a message: a new task, one more message of a task, or an exact replay of a message that was taken in before.
 *
 * Errors: InvalidParameters (ring, context, reused messageId with other content, history full), TaskNotFound, TaskEnded,
 * ContentTypeNotSupported, PushNotificationNotSupported, Forbidden (a worker), Overloaded (too much waits). Nothing is
 * stored then.
 */
export class SendMessage extends Command<SentMessage> {
  constructor(
    readonly principal: Principal,
    readonly request: SendMessageRequest,
  ) {
    super();
  }
}

@CommandHandler(SendMessage)
export class SendMessageHandler implements ICommandHandler<SendMessage> {
  constructor(
    private readonly streams: TaskWriter,
    private readonly reader: TaskReader,
    private readonly agents: AgentDirectory,
    private readonly slots: RunSlots,
    private readonly admission: Admission,
    private readonly secret: ServerSecret,
    private readonly push: PushPolicy,
  ) {}

  async execute({ principal, request }: SendMessage): Promise<SentMessage> {
    if (principal.role === 'worker') {
      throw new DomainError('Forbidden', 'a worker key runs tasks and sends none: send with a key of a member', {});
    }
    if (request.push !== undefined) {
      this.push.requireOffered();
      this.push.check(webhookOf(request.push));
    }
    await this.requireVisibleReferences(principal, request);
    return request.taskId === undefined
      ? this.startTask(principal, request)
      : this.continueTask(principal, request, request.taskId);
  }

  private async startTask(principal: Principal, request: SendMessageRequest): Promise<SentMessage> {
    const { tenantId, subject } = principal;
    const { message } = request;
    const agent = this.agentOf(request);
    requireAcceptedParts(agent, message);
    const ring = ringOf(principal, message);
    const once = agent.idempotency === 'on';
    const taskId = once ? taskIdOf(tenantId, subject, message.messageId) : newId();
    const contextId = request.contextId ?? (once ? contextIdOf(tenantId, subject, message.messageId) : newId());
    const envelope = this.envelope(principal, request, taskId, ring, once);
    return this.accept(envelope, agent, request.agent, null, (claim) => ({
      type: 'SubmitTask',
      contextId,
      ring,
      owner: subject,
      agent: agent.name,
      acknowledged: request.acknowledged,
      message,
      ...pushOf(request, taskId),
      ...claim,
    }));
  }

  private async continueTask(principal: Principal, request: SendMessageRequest, taskId: string): Promise<SentMessage> {
    const { tenantId, subject } = principal;
    const { message } = request;
    const loaded = await this.streams.head(tenantId, taskId, { subject, messageId: message.messageId });
    if (loaded === null || loaded.head.state.status === 'replied') throw taskNotFound(taskId);
    const { head, receipt } = loaded;
    const { state } = head;
    if (!isThere(principal, state, request.agent)) throw taskNotFound(taskId);
    const agent = this.agents.find(state.agent) ?? this.agents.defaultAgent;
    const once = agent.idempotency === 'on';
    const envelope = this.envelope(principal, request, taskId, state.ring, once);
    if (once && receipt !== null) return this.replay(envelope, receipt, request.agent);
    if (request.contextId !== undefined && request.contextId !== state.contextId) {
      throw invalidField('message.contextId', 'is not the context of the task');
    }
    if (ringOf(principal, message, state.ring) !== state.ring) {
      throw invalidField('message.metadata.ring', `the task is in ring "${state.ring}"`);
    }
    requireAcceptedParts(agent, message);
    return this.accept(envelope, agent, request.agent, head, (claim) => ({
      type: 'AddMessage',
      message,
      ...pushOf(request, taskId),
      ...claim,
    }));
  }

  /** Appends with a claim when this process has a slot for the agent, and starts the run once it is recorded. */
  private async accept(
    envelope: CommandEnvelope,
    agent: AgentProfile,
    door: string | undefined,
    head: StreamHead | null,
    command: (claim: { claim?: RunSlot['claim'] }) => Parameters<TaskWriter['apply']>[1],
  ): Promise<SentMessage> {
    const { tenantId, taskId } = envelope;
    const slot = this.slots.reserve(agent.name);
    if (slot === null && head === null) {
      const receipt = await this.admit(envelope);
      if (receipt !== null) return this.replay(envelope, receipt, door);
    }
    const follower = new TaskFollower(this.streams, this.reader, tenantId, taskId);
    try {
      const applied = await this.streams.apply(envelope, command(slot === null ? {} : { claim: slot.claim }), head);
      if (applied.outcome === 'received') {
        slot?.release();
        follower.close();
        return this.replay(envelope, applied.receipt, door);
      }
      follower.startAt(applied);
      if (slot !== null) {
        if (applied.head.state.run?.id === slot.claim.runId) {
          slot.start({ tenantId, taskId, head: applied.head, events: applied.events });
        } else slot.release();
      }
      return { taskId, head: applied.head, follower };
    } catch (error) {
      slot?.release();
      follower.close();
      throw error;
    }
  }

  /** A full queue takes nothing new. What it took before is answered: then the receipt of that. Errors: Overloaded. */
  private async admit({ tenantId, taskId, receipt }: CommandEnvelope): Promise<Receipt | null> {
    try {
      await this.admission.requireRoom(tenantId);
      return null;
    } catch (full) {
      const known = receipt === undefined ? null : await this.streams.head(tenantId, taskId, receipt);
      if (known === null || known.receipt === null) throw full;
      return known.receipt;
    }
  }

  /** At the root a message is the one that was sent at any door; at the door of an agent, one that was sent to that agent. */
  private async replay(
    envelope: CommandEnvelope,
    receipt: { taskId: string; fingerprint: Buffer },
    door: string | undefined,
  ): Promise<SentMessage> {
    if (!receipt.fingerprint.equals(envelope.fingerprint)) {
      throw invalidField('message.messageId', 'was used before with other content; a new message needs a new id');
    }
    const { tenantId } = envelope;
    const { taskId } = receipt;
    // Listens before it reads: what ends the task in between is heard.
    const follower = new TaskFollower(this.streams, this.reader, tenantId, taskId);
    try {
      const loaded = await this.streams.head(tenantId, taskId);
      if (loaded === null) throw taskNotFound(taskId);
      if (door !== undefined && loaded.head.state.agent !== door) {
        throw invalidField('message.messageId', 'was used before with another agent; a new message needs a new id');
      }
      follower.startAt({ head: loaded.head, events: [] });
      return { taskId, head: loaded.head, follower };
    } catch (error) {
      follower.close();
      throw error;
    }
  }

  private agentOf(request: SendMessageRequest): AgentProfile {
    if (request.agent === undefined) return this.agents.defaultAgent;
    const agent = this.agents.find(request.agent);
    if (agent === undefined) throw invalidField('agent', `there is no agent "${request.agent}"`);
    return agent;
  }

  private envelope(
    principal: Principal,
    request: SendMessageRequest,
    taskId: string,
    ring: string,
    once: boolean,
  ): CommandEnvelope {
    const { tenantId, subject, role } = principal;
    const { message, contextId, protocolVersion, traceParent } = request;
    // A replay names what the first send named: the ids that the server chose are no part of it.
    const said = canonicalize({ message, taskId: request.taskId, contextId, ring })!;
    return {
      tenantId,
      taskId,
      actor: { subject, role },
      commandId: once ? `message:${subject}:${message.messageId}` : newInternalCommandId('message'),
      fingerprint: this.secret.hmac('fingerprint', said),
      ...(once ? { receipt: { subject, messageId: message.messageId } } : {}),
      ...(protocolVersion === undefined ? {} : { protocolVersion }),
      ...(traceParent === undefined ? {} : { traceParent }),
      ...(request.push === undefined ? {} : { webhook: webhookOf(request.push) }),
    };
  }

  private async requireVisibleReferences(principal: Principal, { message, agent }: SendMessageRequest): Promise<void> {
    const { referenceTaskIds = [] } = message;
    if (referenceTaskIds.length === 0) return;
    const rows = await this.reader.rows(principal.tenantId, referenceTaskIds);
    const seen = new Set(rows.filter(({ state }) => isThere(principal, state, agent)).map(({ taskId }) => taskId));
    const missing = referenceTaskIds.findIndex((id) => !seen.has(id));
    if (missing < 0) return;
    throw new DomainError('InvalidParameters', `invalid parameters: a referenced task was not found`, {
      violations: [{ field: `message.referenceTaskIds[${missing}]`, description: 'task not found' }],
    });
  }
}

function pushOf({ push, protocolVersion }: SendMessageRequest, taskId: string): { push?: PushTarget } {
  if (push === undefined || protocolVersion === undefined) return {};
  return { push: { configId: push.id ?? taskId, protocolVersion, url: push.url } };
}
