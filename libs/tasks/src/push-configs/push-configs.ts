import { DomainError, isSameWebhook, type Principal, type WebhookId } from '@app/domain';
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

/** A webhook that a caller can read and delete, and the id by which this caller names it. */
export interface VisibleWebhook extends WebhookId {
  readonly id: string;
}

const DERIVED_ID_BYTES = 16;

const LOAD_CONFIGS: NamedStatement = {
  name: 'load_push_configs',
  text: `select c.subject, c.config_id, c.sealed_target
    from unnest($3::text[], $4::text[]) as w (subject, config_id)
    join push_config c on c.tenant_id = $1 and c.task_id = $2 and c.subject = w.subject and c.config_id = w.config_id`,
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
   * Returns the webhooks of a task that the caller can read and delete: its own, and for an admin those of others, whose ids
   * are derived, because two users can choose the same id.
   */
  visible({ tenantId, subject, role }: Principal, { state }: TaskHead, taskId: string): VisibleWebhook[] {
    const webhooks = state.pushConfigs ?? [];
    return webhooks.flatMap((webhook) => {
      if (webhook.subject === subject) return [{ ...webhook, id: webhook.configId }];
      return role === 'member' ? [] : [{ ...webhook, id: this.derivedId(tenantId, taskId, webhook) }];
    });
  }

  /** Returns the visible webhook with an id. The caller's own ids come first. */
  find(principal: Principal, head: TaskHead, taskId: string, id: string): VisibleWebhook | undefined {
    const found = this.visible(principal, head, taskId).filter((webhook) => webhook.id === id);
    return found.find(({ subject }) => subject === principal.subject) ?? found[0];
  }

  /**
   * Returns the configurations of webhooks, in their order. None if the content of the task was erased, and without those whose
   * stored bytes cannot be decrypted.
   */
  async read(
    tenantId: string,
    taskId: string,
    { key }: TaskHead,
    webhooks: readonly VisibleWebhook[],
  ): Promise<PushConfigView[]> {
    if (webhooks.length === 0 || key === null) return [];
    const rows = await this.database.run<{ subject: string; config_id: string; sealed_target: Buffer }>(LOAD_CONFIGS, [
      tenantId,
      taskId,
      webhooks.map(({ subject }) => subject),
      webhooks.map(({ configId }) => configId),
    ]);
    return webhooks.flatMap(({ id, ...webhook }) => {
      const row = rows.find((each) => isSameWebhook({ subject: each.subject, configId: each.config_id }, webhook));
      const target = row && this.cipher.decrypt(row.sealed_target, key, { tenantId, taskId, ...webhook });
      return target ? [viewOf(taskId, id, target)] : [];
    });
  }

  private derivedId(tenantId: string, taskId: string, { subject, configId }: WebhookId): string {
    const digest = this.database.keys.fingerprint(JSON.stringify(['webhook', tenantId, taskId, subject, configId]));
    return `webhook-${digest.toString('base64url', 0, DERIVED_ID_BYTES)}`;
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
