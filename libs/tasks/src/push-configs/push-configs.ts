import { DomainError, type Principal } from '@app/domain';
import { Database, type NamedStatement, type TaskHead, WebhookCipher, type WebhookTarget } from '@app/storage';
import { Injectable } from '@nestjs/common';
import { type AccessOperation, type ScopedTask, TaskAccess } from '../access/task-access.js';
import { PushPolicy } from './push-policy.js';

/** A webhook configuration in a response. It has no credentials: `authentication` is only the scheme. */
export interface PushConfigView extends WebhookTarget {
  readonly id: string;
  readonly taskId: string;
}

/** A webhook configuration in a request. */
export interface NewPushConfig extends WebhookTarget {
  /** Absent: the id of the task. */
  readonly id?: string;
}

const LOAD_CONFIGS: NamedStatement = {
  name: 'load_push_configs',
  text: `select config_id, sealed_target from push_config
    where tenant_id = $1 and task_id = $2 and config_id = any($3::text[])`,
};

/** Loads the webhook configurations of tasks for callers that may manage them. */
@Injectable()
export class PushConfigs {
  constructor(
    private readonly access: TaskAccess,
    private readonly database: Database,
    private readonly cipher: WebhookCipher,
    private readonly policy: PushPolicy,
  ) {}

  /** Returns the head of a task whose webhooks the caller may manage. Errors: PushNotificationNotSupported, TaskNotFound. */
  async requireTask(principal: Principal, operation: AccessOperation, task: ScopedTask): Promise<TaskHead> {
    this.policy.requireOffered();
    return this.access.require(principal, operation, task);
  }

  /**
   * Returns configurations of a task in the order of `ids`. None if the content of the task was erased, and without those whose
   * stored bytes cannot be decrypted.
   */
  async read(
    { tenantId, taskId }: { readonly tenantId: string; readonly taskId: string },
    { key }: TaskHead,
    ids: readonly string[],
  ): Promise<PushConfigView[]> {
    if (ids.length === 0 || key === null) return [];
    const rows = await this.database.run<{ config_id: string; sealed_target: Buffer }>(LOAD_CONFIGS, [
      tenantId,
      taskId,
      ids,
    ]);
    const targets = new Map(rows.map((row) => [row.config_id, row.sealed_target]));
    return ids.flatMap((configId) => {
      const encrypted = targets.get(configId);
      const target = encrypted && this.cipher.decrypt(encrypted, key, { tenantId, taskId, configId });
      return target ? [viewOf(taskId, configId, target)] : [];
    });
  }
}

/** Returns the target of a configuration without other properties of the request. */
export const webhookOf = ({ url, token, authentication }: NewPushConfig): WebhookTarget => ({
  url,
  ...(token === undefined ? {} : { token }),
  ...(authentication === undefined ? {} : { authentication }),
});

/** Returns a configuration without its credentials. */
export const viewOf = (taskId: string, id: string, { url, token, authentication }: WebhookTarget): PushConfigView => ({
  id,
  taskId,
  url,
  ...(token === undefined ? {} : { token }),
  ...(authentication === undefined ? {} : { authentication: { scheme: authentication.scheme } }),
});

/** A missing configuration has the error of a missing task (A2A specification, section 3.1.8). */
export const pushConfigNotFound = (taskId: string, configId: string | undefined) =>
  new DomainError(
    'TaskNotFound',
    configId === undefined
      ? 'the task has no push notification configuration; create one first'
      : `the task has no push notification configuration "${configId}"; list its configurations for their ids`,
    { taskId },
  );
