import { invalidField, type Principal } from '@app/domain';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import type { ScopedTask } from '../access/task-access.js';
import { PageTokens, requirePageSize } from '../queries/page-token.js';
import { pushConfigNotFound, PushConfigs, type PushConfigView } from './push-configs.js';

/**
 * One webhook of a task. Without an id: the one with the id of the task, or the only one. Errors:
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

/** The webhooks of a task in the order of their ids. Errors: PushNotificationNotSupported, TaskNotFound, InvalidParameters. */
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
    const { pushConfigs = [] } = head.state;
    const id = configId ?? defaultConfig(pushConfigs, taskId);
    if (id === undefined || !pushConfigs.includes(id)) throw pushConfigNotFound(taskId, id);
    const [config] = await this.configs.read({ tenantId: principal.tenantId, taskId }, head, [id]);
    if (config === undefined) throw pushConfigNotFound(taskId, id);
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
    const remaining = (head.state.pushConfigs ?? []).filter((id) => after === null || id > after).sort();
    const ids = remaining.slice(0, pageSize);
    const configs = await this.configs.read({ tenantId, taskId }, head, ids);
    const nextPageToken = remaining.length > ids.length ? this.tokens.encrypt([ids.at(-1)!], boundTo) : '';
    return { configs, nextPageToken };
  }
}

/** Returns the configuration that a request without an id means. */
function defaultConfig(ids: readonly string[], taskId: string): string | undefined {
  if (ids.length <= 1) return ids[0];
  if (ids.includes(taskId)) return taskId;
  throw invalidField('pushNotificationConfigId', `is required, because the task has ${ids.length} configurations`);
}
