import { SubscribeToTask, SubscribeToTaskHandler, type TaskStream } from '@app/streaming';
import { DomainError, invalidField, type Principal } from '@app/domain';
import {
  CancelTask,
  DeletePushConfig,
  GetPushConfig,
  GetTask,
  ListPushConfigs,
  ListTasks,
  SendMessage,
  SetPushConfig,
} from '@app/tasks';
import type { CardExtension, Operation, Operations, ProtocolVersion } from '@app/wire';
import { Injectable } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { Cards } from './cards.js';
import { HeldRequests } from './blocking-sends.js';

/** Who asks, through which version, and until when it listens. */
export interface Caller {
  readonly principal: Principal;
  /** The header as it came: while the caller waits, it is asked again whom it stands for. */
  readonly authorization: string | undefined;
  readonly protocolVersion: ProtocolVersion;
  readonly traceParent?: string;
  /** An agent's own path has its tasks alone; the root, where no agent is named, those of all. */
  readonly door: { readonly agent?: string };
  readonly signal: AbortSignal;
}

/** Operations that are answered with a stream. */
export type StreamOperation = 'streamMessage' | 'subscribeToTask';
type SingleOperation = Exclude<Operation, StreamOperation>;

/** How a stream is asked for, beyond the request itself. */
export interface StreamCaller extends Caller {
  readonly lastEventId?: string;
  /** When a subscription ends in the caller's version. */
  readonly until: 'turn' | 'end';
}

export const isStream = (operation: Operation): operation is StreamOperation =>
  operation === 'streamMessage' || operation === 'subscribeToTask';

type Perform<O extends Operation> = (
  request: Operations[O]['request'],
  caller: Caller,
) => Promise<Operations[O]['result']>;

/** What A2A clients can ask, as commands and queries. One line each: meaning is the handlers', shape the codecs'. */
@Injectable()
export class A2aOperations {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly held: HeldRequests,
    private readonly subscriptions: SubscribeToTaskHandler,
    private readonly cards: Cards,
  ) {}

  /** Extensions of A2A that a request may name. */
  readonly extensionsOf = (agent: string | undefined): readonly CardExtension[] => this.cards.extensionsOf(agent);

  /** Performs one operation. Errors: whatever its handler refuses with. */
  perform<O extends SingleOperation>(operation: O, request: Operations[O]['request'], caller: Caller) {
    requireOwnTenant(request, caller);
    return (this.operations[operation] as Perform<O>)(request, caller);
  }

  /** Opens the stream of one operation; what is refused is thrown before anything of it is written. */
  open<O extends StreamOperation>(operation: O, request: Operations[O]['request'], caller: StreamCaller) {
    requireOwnTenant(request, caller);
    if (!this.cards.offers('streaming')) return this.notOffered('streaming');
    return operation === 'streamMessage'
      ? this.sendStream(request as Operations['streamMessage']['request'], caller)
      : this.subscribe(request as Operations['subscribeToTask']['request'], caller);
  }

  private readonly operations: { [O in SingleOperation]: Perform<O> } = {
    sendMessage: (request, caller) => this.send(request, caller),
    getTask: ({ taskId, historyLength }, caller) =>
      this.queries.execute(
        new GetTask(caller.principal, taskId, {
          ...caller.door,
          ...(historyLength === undefined ? {} : { historyLength }),
        }),
      ),
    listTasks: (request, caller) =>
      this.queries.execute(new ListTasks(caller.principal, { ...request, ...caller.door })),
    cancelTask: ({ taskId }, caller) =>
      this.commands.execute(
        new CancelTask(caller.principal, taskId, { ...caller.door, protocolVersion: caller.protocolVersion }),
      ),
    createPushConfig: ({ taskId, ...config }, caller) =>
      this.commands.execute(
        new SetPushConfig(caller.principal, { ...caller.door, taskId }, config, caller.protocolVersion),
      ),
    getPushConfig: ({ taskId, configId }, caller) =>
      this.queries.execute(new GetPushConfig(caller.principal, { ...caller.door, taskId }, configId)),
    listPushConfigs: ({ taskId, ...page }, caller) =>
      this.queries.execute(new ListPushConfigs(caller.principal, { ...caller.door, taskId }, page)),
    deletePushConfig: ({ taskId, configId }, caller) =>
      this.commands.execute(new DeletePushConfig(caller.principal, { ...caller.door, taskId }, configId)),
    getExtendedCard: async (_, { principal, door }) =>
      this.cards.offers('extendedAgentCard')
        ? this.cards.describeFor(principal, door.agent)
        : this.notOffered('the extended agent card'),
  };

  private async send(request: Operations['sendMessage']['request'], caller: Caller) {
    const sent = await this.accept(request, caller, request.configuration.returnImmediately);
    return this.held.answer(caller, sent, request.configuration);
  }

  /** The stream of a send ends with its turn; that of an exact replay gives what became of the first. */
  private async sendStream(request: Operations['streamMessage']['request'], caller: Caller): Promise<TaskStream> {
    const { taskId, head, follower } = await this.accept(request, caller, false);
    const { historyLength } = request.configuration;
    const bound = historyLength === undefined ? {} : { historyLength };
    // At the message itself: a later view would swallow what the run has said since.
    const view = follower.heldView(head.state.version, historyLength);
    follower.close();
    const start = { taskId, state: head.state, key: head.key };
    return this.subscriptions.streamFrom(caller.principal.tenantId, start, { until: 'turn', ...bound }, view);
  }

  private subscribe({ taskId }: Operations['subscribeToTask']['request'], caller: StreamCaller): Promise<TaskStream> {
    const { principal, until, lastEventId } = caller;
    const from = lastEventId === undefined ? {} : { lastEventId };
    return this.queries.execute(new SubscribeToTask(principal, taskId, { ...caller.door, until, ...from }));
  }

  private async accept(request: Operations['sendMessage']['request'], caller: Caller, answered: boolean) {
    const { message, taskId, contextId, configuration } = request;
    const { principal, protocolVersion, traceParent } = caller;
    return this.commands.execute(
      new SendMessage(principal, {
        message,
        taskId,
        contextId,
        answered,
        protocolVersion,
        ...caller.door,
        ...(configuration.pushConfig === undefined ? {} : { push: configuration.pushConfig }),
        ...(traceParent === undefined ? {} : { traceParent }),
      }),
    );
  }

  private async notOffered(what: string): Promise<never> {
    throw new DomainError('UnsupportedOperation', `this agent does not offer ${what}`, { operation: what });
  }
}

/** The tenant comes from the credential; one in the request is only held against it. */
function requireOwnTenant(request: { readonly tenant?: string }, { principal }: Caller): void {
  const { tenant } = request;
  if (tenant === undefined || tenant === '' || tenant === principal.tenantId) return;
  throw invalidField('tenant', 'is not the tenant of the credential');
}
