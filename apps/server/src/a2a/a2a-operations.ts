import {
  DomainError,
  invalidField,
  type Json,
  type Principal,
  taskNotFound,
  type TaskView,
  textOf,
  type TraceContext,
} from '@app/domain';
import { SubscribeToTask, SubscribeToTaskHandler, type TaskStream } from '@app/streaming';
import {
  CancelTask,
  DeletePushConfig,
  GetPushConfig,
  GetTask,
  ListPushConfigs,
  ListTasks,
  SendMessage,
  type SentMessage,
  SetPushConfig,
} from '@app/tasks';
import type {
  AnyMethod,
  CardExtension,
  Method,
  Operation,
  Operations,
  ProtocolVersion,
  SendRequest,
  TaskRequest,
} from '@app/wire';
import { Injectable } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { AgentScope } from '../edge/callers/agent-scope.js';
import type { Client } from '../edge/callers/client.js';
import { AgentCards } from './cards.js';
import { BlockingSends } from './blocking-sends.js';

/** The request of an A2A operation, apart from its params. */
export interface A2aCaller {
  readonly principal: Principal;
  /** The `Authorization` header. It is checked again while the response is open. */
  readonly authorization: string | undefined;
  readonly protocolVersion: ProtocolVersion;
  readonly client: Client;
  readonly trace?: TraceContext;
  readonly scope: AgentScope;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  readonly lastEventId?: string;
  /** When a subscription ends in this protocol version. */
  readonly subscriptionUntil: 'turn' | 'end';
}

/** The operations that respond with a stream: those without a single result. */
type StreamOperation = { [O in Operation]: [Operations[O]['result']] extends [never] ? O : never }[Operation];
type SingleOperation = Exclude<Operation, StreamOperation>;
type Params<O extends Operation> = Operations[O]['request'];

type Perform<O extends Operation> = (params: Params<O>, caller: A2aCaller) => Promise<Operations[O]['result']>;
type Open<O extends StreamOperation> = (params: Params<O>, caller: A2aCaller) => Promise<TaskStream>;

/** The encoded result of an operation, or its stream of updates. */
export type Outcome =
  { readonly result: Json; readonly stream?: undefined } | { readonly result?: undefined; readonly stream: TaskStream };

/** Maps every A2A operation to a command or a query. The codecs define the wire formats, the handlers the behavior. */
@Injectable()
export class A2aOperations {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly blockingSends: BlockingSends,
    private readonly subscriptions: SubscribeToTaskHandler,
    private readonly cards: AgentCards,
  ) {}

  /** Returns the extensions that a request may activate. */
  readonly extensionsOf = (agent: string | undefined): readonly CardExtension[] => this.cards.extensionsOf(agent);

  /** Executes a decoded call. Errors: those of the command or query; for a stream, before its first frame. */
  async execute(method: AnyMethod, params: Params<Operation>, caller: A2aCaller): Promise<Outcome> {
    requireOwnTenant(params, caller);
    const { operation } = method;
    if (this.isStream(operation)) {
      if (!this.cards.offers('streaming'))
        throw notOffered('streaming', 'send the message without a stream, and poll the task');
      return { stream: await this.streams[operation](params as never, caller) };
    }
    const result = await this.operations[operation](params as never, caller);
    return { result: (method as Method<Operation>).encode(result as never, params as never) };
  }

  private readonly streams: { [O in StreamOperation]: Open<O> } = {
    streamMessage: (params, caller) => this.streamMessage(params, caller),
    subscribeToTask: (params, caller) => this.subscribeToTask(params, caller),
  };

  private readonly operations: { [O in SingleOperation]: Perform<O> } = {
    sendMessage: (params, caller) => this.sendMessage(params, caller),
    getTask: ({ taskId, historyLength }, { principal, scope }) =>
      this.queries.execute(new GetTask(principal, taskId, { ...scope, historyLength })),
    listTasks: (params, { principal, scope }) =>
      this.queries.execute(new ListTasks(principal, { ...params, ...scope })),
    cancelTask: ({ taskId }, { principal, scope, protocolVersion, trace }) =>
      this.commands.execute(new CancelTask(principal, taskId, { ...scope, protocolVersion, trace })),
    createPushConfig: ({ taskId, ...config }, { principal, scope, protocolVersion }) =>
      this.commands.execute(new SetPushConfig(principal, { ...scope, taskId }, config, protocolVersion)),
    getPushConfig: ({ taskId, configId }, { principal, scope }) =>
      this.queries.execute(new GetPushConfig(principal, { ...scope, taskId }, configId)),
    listPushConfigs: ({ taskId, ...page }, { principal, scope }) =>
      this.queries.execute(new ListPushConfigs(principal, { ...scope, taskId }, page)),
    deletePushConfig: ({ taskId, configId }, { principal, scope }) =>
      this.commands.execute(new DeletePushConfig(principal, { ...scope, taskId }, configId)),
    getExtendedCard: async (_, { principal, scope }) => {
      if (!this.cards.offers('extendedAgentCard')) throw notOffered('the extended agent card', 'use the public card');
      return this.cards.describeFor(principal, scope.agent);
    },
  };

  /** Sends a message. Unless the client wants an immediate response, waits for the outcome of the task. */
  private async sendMessage(params: SendRequest, caller: A2aCaller): Promise<TaskView> {
    const { returnImmediately, historyLength } = params.configuration;
    const sent = await this.submit(params, caller, returnImmediately);
    try {
      if (!returnImmediately) await this.blockingSends.waitForOutcome(caller, sent);
      const view = await sent.follower.view(historyLength);
      if (view === null) throw taskNotFound(sent.taskId);
      if (!returnImmediately && view.state.invalidResponse) throw invalidAgentResponse(view);
      return view;
    } finally {
      sent.follower.close();
    }
  }

  /** Sends a message and opens the stream of its turn. A repeated message gets the stream of the first send. */
  private async streamMessage(params: SendRequest, caller: A2aCaller): Promise<TaskStream> {
    const { taskId, head, follower } = await this.submit(params, caller, false);
    const { historyLength } = params.configuration;
    // The snapshot is the task right after the message: a later view would hide what the run has published since.
    const view = follower.viewAt(head.state.version, historyLength);
    follower.close();
    const start = { taskId, state: head.state, key: head.key };
    const options = { until: 'turn', historyLength } as const;
    return this.subscriptions.streamFrom(caller.principal.tenantId, start, options, view);
  }

  private subscribeToTask({ taskId }: TaskRequest, caller: A2aCaller): Promise<TaskStream> {
    const { principal, scope, subscriptionUntil: until, lastEventId } = caller;
    return this.queries.execute(new SubscribeToTask(principal, taskId, { ...scope, until, lastEventId }));
  }

  /** `acknowledged`: the client gets its response before the outcome. */
  private submit(params: SendRequest, caller: A2aCaller, acknowledged: boolean): Promise<SentMessage> {
    const { message, taskId, contextId, metadata } = params;
    const { pushConfig: push, ...configuration } = params.configuration;
    const { principal, scope, client, protocolVersion, trace } = caller;
    const request = { configuration, metadata, ...client };
    const send = { message, taskId, contextId, request, acknowledged, protocolVersion, trace, push, ...scope };
    return this.commands.execute(new SendMessage(principal, send));
  }

  private isStream(operation: Operation): operation is StreamOperation {
    return Object.hasOwn(this.streams, operation);
  }
}

/** The tenant comes from the credential. A tenant in the request must be the same. */
function requireOwnTenant({ tenant }: { readonly tenant?: string }, { principal }: A2aCaller): void {
  if (tenant === undefined || tenant === '' || tenant === principal.tenantId) return;
  throw invalidField('tenant', `"${tenant}" is not the tenant of the credential; omit it`);
}

const notOffered = (operation: string, advice: string) =>
  new DomainError('UnsupportedOperation', `this server does not offer ${operation}; ${advice}`, { operation });

const invalidAgentResponse = ({ taskId, statusMessage }: TaskView) =>
  new DomainError('InvalidAgentResponse', textOf(statusMessage ?? { parts: [] }) || 'invalid agent response', {
    taskId,
  });
