import type { Principal } from '@app/domain';
import { ServerSecret } from '@app/storage';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { AccessRecord } from '../access/access-record.js';
import {
  type NewPushConfig,
  type PushConfigView,
  type PushedTask,
  pushableTask,
  viewOf,
  webhookOf,
} from './push-configs.js';
import { PushPolicy } from './push-policy.js';
import { newInternalCommandId, TaskWriter } from '../commands/task-writer.js';

/**
 * Has a webhook told of what happens to a task from now on; one with the same id is replaced. Ended tasks take it too.
 * Errors: PushNotificationNotSupported, TaskNotFound, InvalidParameters (the URL, too many of them).
 */
export class SetPushConfig extends Command<PushConfigView> {
  constructor(
    readonly principal: Principal,
    readonly task: PushedTask,
    readonly config: NewPushConfig,
    readonly protocolVersion: string,
  ) {
    super();
  }
}

/** Tells a webhook nothing more. Errors: PushNotificationNotSupported, TaskNotFound; none for one that is not there. */
export class DeletePushConfig extends Command<void> {
  constructor(
    readonly principal: Principal,
    readonly task: PushedTask,
    readonly configId: string,
  ) {
    super();
  }
}

@CommandHandler(SetPushConfig)
export class SetPushConfigHandler implements ICommandHandler<SetPushConfig> {
  constructor(
    private readonly streams: TaskWriter,
    private readonly policy: PushPolicy,
    private readonly access: AccessRecord,
    private readonly secret: ServerSecret,
  ) {}

  async execute({ principal, task, config, protocolVersion }: SetPushConfig): Promise<PushConfigView> {
    const { taskId } = task;
    this.policy.requireOffered();
    const head = await pushableTask(this.streams, principal, task);
    const webhook = webhookOf(config);
    this.policy.check(webhook);
    await this.access.note(principal, 'PushConfigSet', taskId, head.state);
    const { tenantId, subject, role } = principal;
    const configId = config.id ?? taskId;
    await this.streams.apply(
      {
        tenantId,
        taskId,
        actor: { subject, role },
        commandId: newInternalCommandId('set-push-config'),
        // Names nothing of the target: this stands in the event, in the clear.
        fingerprint: this.secret.hmac('fingerprint', `set-push-config ${configId}`),
        protocolVersion,
        webhook,
      },
      { type: 'SetPushConfig', push: { configId, protocolVersion, url: webhook.url } },
      head,
    );
    return viewOf(taskId, configId, webhook);
  }
}

@CommandHandler(DeletePushConfig)
export class DeletePushConfigHandler implements ICommandHandler<DeletePushConfig> {
  constructor(
    private readonly streams: TaskWriter,
    private readonly policy: PushPolicy,
    private readonly access: AccessRecord,
    private readonly secret: ServerSecret,
  ) {}

  async execute({ principal, task, configId }: DeletePushConfig): Promise<void> {
    const { taskId } = task;
    this.policy.requireOffered();
    const head = await pushableTask(this.streams, principal, task);
    await this.access.note(principal, 'PushConfigDeleted', taskId, head.state);
    const { tenantId, subject, role } = principal;
    await this.streams.apply(
      {
        tenantId,
        taskId,
        actor: { subject, role },
        commandId: newInternalCommandId('delete-push-config'),
        fingerprint: this.secret.hmac('fingerprint', `delete-push-config ${configId}`),
      },
      { type: 'DeletePushConfig', configId },
      head,
    );
  }
}
