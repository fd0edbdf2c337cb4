import {
  type AgentProfile,
  DomainError,
  invalidField,
  type Message,
  newId,
  type Principal,
  type PushTarget,
  quoted,
  type SendRecord,
  taskIdsOf,
  taskNotFound,
  type TraceContext,
} from '@app/domain';
import type { Receipt } from '@app/event-log';
import { Database, type TaskHead } from '@app/storage';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import canonicalize from 'canonicalize';
import { ringOf } from '../access/ring-of-message.js';
import { type AccessedTask, TaskAccess } from '../access/task-access.js';
import { taskOfMessage } from '../access/task-of-message.js';
import { TaskFollower } from '../following/task-follower.js';
import { AgentDirectory, type RunSlot, RunSlots } from '../ports.js';
import { type NewPushConfig, webhookOf } from '../push-configs/push-configs.js';
import { PushPolicy } from '../push-configs/push-policy.js';
import { TaskReader } from '../queries/task-reader.js';
import { requireAcceptedModes } from './accepted-modes.js';
import { Admission } from './admission.js';
import { type CommandEnvelope, newInternalCommandId, TaskWriter } from './task-writer.js';

export interface SendMessageRequest {
  readonly message: Message;
  readonly taskId?: string;
  readonly contextId?: string;
  /** The agent of a new task. The task or receipt of a different agent does not count. Absent: the default agent, any task. */
  readonly agent?: string;
  /** The client gets a response before the outcome, so the agent can no longer respond with a direct message. */
  readonly acknowledged: boolean;
  /** What the client sent besides the message. It is recorded, and the agent receives it. */
  readonly request: SendRecord;
  readonly protocolVersion?: string;
  readonly trace?: TraceContext;
  /** A webhook for the task, from its first event on. A replay keeps the webhook of the first send. */
  readonly push?: NewPushConfig;
}

/** The task that has received a message. */
export interface SentMessage {
  readonly taskId: string;
  /** The task right after the message. For a replay: the task now. */
  readonly head: TaskHead;
  /** Follows the task from `head` on. The caller must close it, unless it awaits an outcome. */
  readonly follower: TaskFollower;
}

/**
 * Records a message: as a new task, or in an existing task. An exact replay of a recorded message returns its task.
 *
 * Errors, with nothing stored: InvalidParameters (ring, context, a messageId with different content, a full history),
 * TaskNotFound, TaskEnded, ContentTypeNotSupported, PushNotificationNotSupported, Forbidden (a worker key), Overloaded (a
 * full queue).
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
    private readonly writer: TaskWriter,
    private readonly reader: TaskReader,
    private readonly agents: AgentDirectory,
    private readonly slots: RunSlots,
    private readonly admission: Admission,
    private readonly database: Database,
    private readonly push: PushPolicy,
    private readonly access: TaskAccess,
  ) {}

  async execute({ principal, request }: SendMessage): Promise<SentMessage> {
    if (principal.role === 'worker') {
      throw new DomainError('Forbidden', 'a worker key cannot send messages; use the key of a member', {});
    }
    if (request.push !== undefined) {
      this.push.requireOffered();
      this.push.check(webhookOf(request.push));
    }
    const task = await taskOfMessage(this.access, principal, request);
    return task === null ? this.startTask(principal, request) : this.continueTask(principal, request, task);
  }

  private async startTask(principal: Principal, request: SendMessageRequest): Promise<SentMessage> {
    const { tenantId, subject } = principal;
    const { message } = request;
    const agent = this.agentOf(request);
    const ring = ringOf(principal, message);
    const idempotent = agent.idempotency === 'on';
    const { taskId, contextId: newContextId } = idempotent
      ? taskIdsOf(this.database.keys.ids, tenantId, subject, message.messageId)
      : { taskId: newId(), contextId: newId() };
    const contextId = request.contextId ?? newContextId;
    const envelope = this.envelope(principal, request, taskId, ring, idempotent);
    const own = (id: string) => this.requireOwn(principal, request, id);
    try {
      requireAcceptedModes(agent, message, request.request.configuration);
    } catch (rejection) {
      return this.replay(envelope, await this.receiptOr(envelope, rejection), own);
    }
    return this.record(envelope, agent, null, own, (claim) => ({
      type: 'SubmitTask',
      contextId,
      ring,
      owner: subject,
      agent: agent.name,
      acknowledged: request.acknowledged,
      message,
      request: request.request,
      ...pushOf(principal, request, taskId),
      ...claim,
    }));
  }

  private async continueTask(
    principal: Principal,
    request: SendMessageRequest,
    task: AccessedTask,
  ): Promise<SentMessage> {
    const { message, contextId } = request;
    const { taskId, receipt, state } = task;
    const known = () => this.requireHead(principal.tenantId, taskId);
    const agent = this.agents.find(state.agent) ?? this.agents.defaultAgent;
    const idempotent = agent.idempotency === 'on';
    const envelope = this.envelope(principal, request, taskId, state.ring, idempotent);
    if (idempotent && receipt !== null) return this.replay(envelope, receipt, known);
    if (contextId !== undefined && contextId !== state.contextId) {
      throw invalidField(
        'message.contextId',
        `"${contextId}" is not the context of the task ("${state.contextId}"); omit contextId`,
      );
    }
    const ring = ringOf(principal, message, state.ring);
    if (ring !== state.ring) {
      throw invalidField(
        'message.metadata.ring',
        `${quoted(ring)} is not the ring of the task ("${state.ring}"); omit the ring`,
      );
    }
    requireAcceptedModes(agent, message, request.request.configuration);
    return this.record(envelope, agent, task, known, (claim) => ({
      type: 'AddMessage',
      message,
      request: request.request,
      ...pushOf(principal, request, taskId),
      ...claim,
    }));
  }

  /** Appends the message. If this process has a free slot for the agent, the same append claims the run, and it starts here. */
  private async record(
    envelope: CommandEnvelope,
    agent: AgentProfile,
    head: TaskHead | null,
    headOf: HeadOf,
    commandWith: (claim: { claim?: RunSlot['claim'] }) => Parameters<TaskWriter['apply']>[1],
  ): Promise<SentMessage> {
    const { tenantId, taskId } = envelope;
    const slot = this.slots.reserve(agent.name);
    if (slot === null && head === null) {
      const receipt = await this.admit(envelope);
      if (receipt !== null) return this.replay(envelope, receipt, headOf);
    }
    const follower = this.follow(tenantId, taskId);
    try {
      const command = commandWith(slot === null ? {} : { claim: slot.claim });
      const applied = await this.writer.apply(envelope, command, head);
      if (applied.outcome === 'received') {
        slot?.release();
        follower.close();
        return this.replay(envelope, applied.receipt, headOf);
      }
      follower.startAt(applied);
      if (slot !== null && applied.head.state.run?.id === slot.claim.runId) {
        slot.start({ tenantId, taskId, head: applied.head, events: applied.events });
      } else slot?.release();
      return { taskId, head: applied.head, follower };
    } catch (error) {
      slot?.release();
      follower.close();
      throw error;
    }
  }

  /** Returns the receipt if the queue is full and the message was recorded before. Errors: Overloaded. */
  private async admit(envelope: CommandEnvelope): Promise<Receipt | null> {
    try {
      await this.admission.requireCapacity(envelope.tenantId);
      return null;
    } catch (overloaded) {
      return this.receiptOr(envelope, overloaded);
    }
  }

  /** Returns the receipt of a message that was recorded before. It is replayed whatever a new message would be rejected for. */
  private async receiptOr({ tenantId, receipt: id }: CommandEnvelope, rejection: unknown): Promise<Receipt> {
    const receipt = id === undefined ? null : await this.writer.receipt(tenantId, id);
    if (receipt === null) throw rejection;
    return receipt;
  }

  /** Returns the task of a message that was recorded before. */
  private async replay(envelope: CommandEnvelope, receipt: Receipt, headOf: HeadOf): Promise<SentMessage> {
    const { tenantId } = envelope;
    const { taskId } = receipt;
    if (!receipt.fingerprint.equals(envelope.fingerprint)) throw reusedMessageId('different content');
    const follower = this.follow(tenantId, taskId);
    try {
      const head = await headOf(taskId);
      follower.startAt({ head, events: [] });
      return { taskId, head, follower };
    } catch (error) {
      follower.close();
      throw error;
    }
  }

  /** Subscribes to a task. It comes before the append or the read, so that no event in between is missed. */
  private follow(tenantId: string, taskId: string): TaskFollower {
    return new TaskFollower({ reader: this.reader, wakeups: this.writer.wakeups }, tenantId, taskId);
  }

  private agentOf(request: SendMessageRequest): AgentProfile {
    if (request.agent === undefined) return this.agents.defaultAgent;
    const agent = this.agents.find(request.agent);
    if (agent === undefined)
      throw invalidField('agent', `"${request.agent}" is not an agent of this server; /health lists the agents`);
    return agent;
  }

  private envelope(
    principal: Principal,
    request: SendMessageRequest,
    taskId: string,
    ring: string,
    idempotent: boolean,
  ): CommandEnvelope {
    const { tenantId, subject, role } = principal;
    const { message, contextId, protocolVersion, trace } = request;
    // Ids that the server generates are not included, because a replay does not name them.
    const payload = canonicalize({ message, taskId: request.taskId, contextId, ring })!;
    return {
      tenantId,
      taskId,
      actor: { subject, role },
      commandId: idempotent ? `message:${subject}:${message.messageId}` : newInternalCommandId('message'),
      fingerprint: this.database.keys.fingerprint(payload),
      ...(idempotent ? { receipt: { subject, messageId: message.messageId } } : {}),
      ...(protocolVersion === undefined ? {} : { protocolVersion }),
      ...(trace === undefined ? {} : { trace }),
      ...(request.push === undefined ? {} : { webhook: webhookOf(request.push) }),
    };
  }

  /** Returns the head of the task that has received a message of the caller. Within an agent scope, it must be a task of that agent. */
  private async requireOwn(principal: Principal, { agent }: SendMessageRequest, taskId: string): Promise<TaskHead> {
    const [task] = await this.access.find(principal, 'SendMessage', { taskIds: [taskId], agent, replied: true });
    if (task !== undefined) return task;
    throw agent === undefined ? taskNotFound(taskId) : reusedMessageId('a different agent');
  }

  /** Returns the current head of a task whose access was checked. Errors: TaskNotFound, if it was erased since. */
  private async requireHead(tenantId: string, taskId: string): Promise<TaskHead> {
    const head = await this.writer.head(tenantId, taskId);
    if (head === null) throw taskNotFound(taskId);
    return head;
  }
}

/** Returns the head of the task that has received the message. */
type HeadOf = (taskId: string) => Promise<TaskHead>;

function pushOf(
  { subject }: Principal,
  { push, protocolVersion }: SendMessageRequest,
  taskId: string,
): { push?: PushTarget } {
  if (push === undefined || protocolVersion === undefined) return {};
  return { push: { subject, configId: push.id ?? taskId, protocolVersion, url: push.url } };
}

const reusedMessageId = (difference: string) =>
  invalidField('message.messageId', `was used before with ${difference}; use a new one for a new message`);
