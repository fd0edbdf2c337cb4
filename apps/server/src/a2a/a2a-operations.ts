import { DomainError, type Principal } from '@app/domain';
import { CancelTask, GetTask, ListTasks, SendMessage } from '@app/tasks';
import type { Operation, Operations, ProtocolVersion } from '@app/wire';
import { Injectable } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { HeldRequests } from './held-requests.js';

/** Who asks, through which version, and until when it listens. */
export interface Caller {
  readonly principal: Principal;
  readonly protocolVersion: ProtocolVersion;
  readonly traceParent?: string;
  readonly signal: AbortSignal;
}

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
  ) {}

  /** Performs one operation. Errors: whatever its handler refuses with. */
  perform<O extends Operation>(operation: O, request: Operations[O]['request'], caller: Caller) {
    const { tenant } = request as { tenant?: string };
    if (tenant !== undefined && tenant !== '' && tenant !== caller.principal.tenantId) {
      throw new DomainError('InvalidParameters', 'invalid parameters: tenant: is not the tenant of the credential', {
        violations: [{ field: 'tenant', description: 'is not the tenant of the credential' }],
      });
    }
    return (this.operations[operation] as Perform<O>)(request, caller);
  }

  private readonly operations: { [O in Operation]: Perform<O> } = {
    sendMessage: (request, caller) => this.send(request, caller),
    getTask: ({ taskId, historyLength }, { principal }) =>
      this.queries.execute(new GetTask(principal, taskId, historyLength === undefined ? {} : { historyLength })),
    listTasks: (request, { principal }) => this.queries.execute(new ListTasks(principal, request)),
    cancelTask: ({ taskId }, { principal, protocolVersion }) =>
      this.commands.execute(new CancelTask(principal, taskId, { protocolVersion })),
    streamMessage: () => this.notOffered('streaming'),
    subscribeToTask: () => this.notOffered('streaming'),
    createPushConfig: () => this.noPush(),
    getPushConfig: () => this.noPush(),
    listPushConfigs: () => this.noPush(),
    deletePushConfig: () => this.noPush(),
    getExtendedCard: () => this.notOffered('the extended agent card'),
  };

  private async send(request: Operations['sendMessage']['request'], caller: Caller) {
    const { message, taskId, contextId, configuration } = request;
    if (configuration.pushConfig !== undefined) await this.noPush();
    const { principal, protocolVersion, traceParent, signal } = caller;
    const sent = await this.commands.execute(
      new SendMessage(principal, {
        message,
        taskId,
        contextId,
        answered: configuration.returnImmediately,
        protocolVersion,
        ...(traceParent === undefined ? {} : { traceParent }),
      }),
    );
    return this.held.answer(principal, sent, { ...configuration, signal });
  }

  private async notOffered(what: string): Promise<never> {
    throw new DomainError('UnsupportedOperation', `this agent does not offer ${what}`, { operation: what });
  }

  private async noPush(): Promise<never> {
    throw new DomainError('PushNotificationNotSupported', 'this agent does not send push notifications', {});
  }
}
