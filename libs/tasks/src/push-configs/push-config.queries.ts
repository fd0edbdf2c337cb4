import { invalidField, type Principal } from '@app/domain';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import type { ScopedTask } from '../access/task-access.js';
import { PageTokens, requirePageSize } from '../queries/page-token.js';
import { pushConfigNotFound, PushConfigs, type PushConfigView, type VisibleWebhook } from './push-configs.js';

/**
 * One webhook that the caller set, or for an admin also one of others. Without an id: the one with the id of the task, or the only
 * one. Errors:
 * PushNotificationNotSupported, TaskNotFound, InvalidParameters (no id, and the task has several others).
 */
export class GetPushConfig extends Query<PushConfigView> {
  constructor(
    readonly principal: Principal,
    readonly task: ScopedTask,
    readonly configId?: string,
  ) {
    super();
  }
}

export interface PushConfigPage {
  readonly configs: readonly PushConfigView[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

/** The webhooks of a task that the caller set, and for an admin those of others, in the order of their ids. Errors: PushNotificationNotSupported, TaskNotFound, InvalidParameters. */
export class ListPushConfigs extends Query<PushConfigPage> {
  constructor(
    readonly principal: Principal,
    readonly task: ScopedTask,
    readonly page: { readonly pageSize: number; readonly pageToken?: string },
  ) {
    super();
  }
}

@QueryHandler(GetPushConfig)
export class GetPushConfigHandler implements IQueryHandler<GetPushConfig> {
  constructor(private readonly configs: PushConfigs) {}

  async execute({ principal, task, configId }: GetPushConfig): Promise<PushConfigView> {
    const { taskId } = task;
    const head = await this.configs.requireTask(principal, 'GetPushConfig', task);
    const webhook =
      configId === undefined
        ? defaultConfig(principal, this.configs.visible(principal, head, taskId), taskId)
        : this.configs.find(principal, head, taskId, configId);
    const [config] = webhook === undefined ? [] : await this.configs.read(principal.tenantId, taskId, head, [webhook]);
    if (config === undefined) throw pushConfigNotFound(taskId, configId);
    return config;
  }
}

@QueryHandler(ListPushConfigs)
export class ListPushConfigsHandler implements IQueryHandler<ListPushConfigs> {
  constructor(
    private readonly configs: PushConfigs,
    private readonly tokens: PageTokens,
  ) {}

  async execute({ principal, task, page: { pageSize, pageToken } }: ListPushConfigs): Promise<PushConfigPage> {
    const { tenantId, subject, role } = principal;
    const { taskId } = task;
    const head = await this.configs.requireTask(principal, 'ListPushConfigs', task);
    requirePageSize(pageSize);
    const boundTo = ['push-configs', tenantId, subject, role, taskId];
    const after = pageToken ? this.tokens.decrypt(pageToken, boundTo)[0]! : null;
    const remaining = this.configs
      .visible(principal, head, taskId)
      .filter(({ id }) => after === null || id > after)
      .toSorted((one, other) => (one.id < other.id ? -1 : 1));
    const page = remaining.slice(0, pageSize);
    const configs = await this.configs.read(tenantId, taskId, head, page);
    const nextPageToken = remaining.length > page.length ? this.tokens.encrypt([page.at(-1)!.id], boundTo) : '';
    return { configs, nextPageToken };
  }
}

/** Returns the configuration that a request without an id means. */
function defaultConfig(
  { subject }: Principal,
  visible: readonly VisibleWebhook[],
  taskId: string,
): VisibleWebhook | undefined {
  const own = visible.filter((webhook) => webhook.subject === subject);
  const candidates = own.length > 0 ? own : visible;
  if (candidates.length <= 1) return candidates[0];
  const named = candidates.find(({ id }) => id === taskId);
  if (named !== undefined) return named;
  throw invalidField('pushNotificationConfigId', `is required, because there are ${candidates.length} configurations`);
}
