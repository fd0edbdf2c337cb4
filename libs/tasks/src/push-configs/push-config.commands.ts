import type { Principal } from '@app/domain';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { ScopedTask } from '../access/task-access.js';
import { callerCommand, TaskWriter } from '../commands/task-writer.js';
import { type NewPushConfig, PushConfigs, type PushConfigView, viewOf, webhookOf } from './push-configs.js';
import { PushPolicy } from './push-policy.js';

/**
 * Sets a webhook that is notified of later events of a task. It replaces the caller's webhook with the same id. Ended
 * tasks accept one, too. Errors: PushNotificationNotSupported, TaskNotFound, InvalidParameters (the URL, too many webhooks).
 */
export class SetPushConfig extends Command<PushConfigView> {
  constructor(
    readonly principal: Principal,
    readonly task: ScopedTask,
    readonly config: NewPushConfig,
    readonly protocolVersion: string,
  ) {
    super();
  }
}

/** Deletes a webhook of a task, if the task has it. Errors: PushNotificationNotSupported, TaskNotFound. */
export class DeletePushConfig extends Command<void> {
  constructor(
    readonly principal: Principal,
    readonly task: ScopedTask,
    readonly configId: string,
  ) {
    super();
  }
}

@CommandHandler(SetPushConfig)
export class SetPushConfigHandler implements ICommandHandler<SetPushConfig> {
  constructor(
    private readonly configs: PushConfigs,
    private readonly writer: TaskWriter,
    private readonly policy: PushPolicy,
  ) {}

  async execute({ principal, task, config, protocolVersion }: SetPushConfig): Promise<PushConfigView> {
    const { taskId } = task;
    const head = await this.configs.requireTask(principal, 'SetPushConfig', task);
    const webhook = webhookOf(config);
    this.policy.check(webhook);
    const configId = config.id ?? taskId;
    await this.writer.apply(
      { ...callerCommand(principal, taskId, 'set-push-config'), protocolVersion, webhook },
      { type: 'SetPushConfig', push: { subject: principal.subject, configId, protocolVersion, url: webhook.url } },
      head,
    );
    return viewOf(taskId, configId, webhook);
  }
}

@CommandHandler(DeletePushConfig)
export class DeletePushConfigHandler implements ICommandHandler<DeletePushConfig> {
  constructor(
    private readonly configs: PushConfigs,
    private readonly writer: TaskWriter,
  ) {}

  async execute({ principal, task, configId }: DeletePushConfig): Promise<void> {
    const { taskId } = task;
    const head = await this.configs.requireTask(principal, 'DeletePushConfig', task);
    const envelope = callerCommand(principal, taskId, 'delete-push-config');
    const webhook = this.configs.find(principal, head, taskId, configId);
    if (webhook === undefined) return;
    const { subject } = webhook;
    await this.writer.apply(envelope, { type: 'DeletePushConfig', subject, configId: webhook.configId }, head);
  }
}
