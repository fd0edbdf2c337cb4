import { BOUNDS, invalidField, type Principal } from '@app/domain';
import { Database, WebhookCipher } from '@app/storage';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { AccessRecord } from '../access/access-record.js';
import { TaskWriter } from '../commands/task-writer.js';
import { PageTokens } from '../queries/page-token.js';
import {
  type PushConfigView,
  type PushedTask,
  pushableTask,
  pushConfigNotFound,
  readPushConfigs,
} from './push-configs.js';
import { PushPolicy } from './push-policy.js';

/**
 * One webhook of a task; without an id the one without a name, or the only one.
 * Errors: PushNotificationNotSupported, TaskNotFound, InvalidParameters (no id, and several to choose from).
 */
export class GetPushConfig extends Query<PushConfigView> {
  constructor(
    readonly principal: Principal,
    readonly task: PushedTask,
    readonly configId?: string,
  ) {
    super();
  }
}

export interface PushConfigViews {
  readonly configs: readonly PushConfigView[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

/** The webhooks of a task, by their ids. Errors: PushNotificationNotSupported, TaskNotFound, InvalidParameters. */
export class ListPushConfigs extends Query<PushConfigViews> {
  constructor(
    readonly principal: Principal,
    readonly task: PushedTask,
    readonly page: { readonly pageSize: number; readonly pageToken?: string },
  ) {
    super();
  }
}

@QueryHandler(GetPushConfig)
export class GetPushConfigHandler implements IQueryHandler<GetPushConfig> {
  constructor(
    private readonly writer: TaskWriter,
    private readonly database: Database,
    private readonly cipher: WebhookCipher,
    private readonly policy: PushPolicy,
    private readonly access: AccessRecord,
  ) {}

  async execute({ principal, task, configId }: GetPushConfig): Promise<PushConfigView> {
    const { taskId } = task;
    this.policy.requireOffered();
    const head = await pushableTask(this.writer, principal, task);
    const id = configId ?? theOnly(head.state.pushConfigs ?? [], taskId);
    if (id === undefined || !head.state.pushConfigs?.includes(id)) throw pushConfigNotFound(taskId);
    await this.access.note(principal, 'PushConfigsRead', taskId, head.state);
    const { tenantId } = principal;
    const [config] = await readPushConfigs({ database: this.database, cipher: this.cipher }, { tenantId, taskId }, head, [id]);
    if (config === undefined) throw pushConfigNotFound(taskId);
    return config;
  }
}

@QueryHandler(ListPushConfigs)
export class ListPushConfigsHandler implements IQueryHandler<ListPushConfigs> {
  constructor(
    private readonly writer: TaskWriter,
    private readonly database: Database,
    private readonly cipher: WebhookCipher,
    private readonly policy: PushPolicy,
    private readonly access: AccessRecord,
    private readonly tokens: PageTokens,
  ) {}

  async execute({ principal, task, page }: ListPushConfigs): Promise<PushConfigViews> {
    const { taskId } = task;
    this.policy.requireOffered();
    const { pageSize, pageToken } = page;
    if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > BOUNDS.pageSizeMax) {
      throw invalidField('pageSize', `must be a whole number from 1 to ${BOUNDS.pageSizeMax}`);
    }
    const head = await pushableTask(this.writer, principal, task);
    await this.access.note(principal, 'PushConfigsRead', taskId, head.state);
    const { tenantId, subject, role } = principal;
    const boundTo = ['push-configs', tenantId, subject, role, taskId];
    const after = pageToken ? this.tokens.open(pageToken, boundTo)[0]! : null;
    const ids = [...(head.state.pushConfigs ?? [])].sort();
    const following = ids.filter((id) => after === null || id > after);
    const shown = following.slice(0, pageSize);
    const configs = await readPushConfigs({ database: this.database, cipher: this.cipher }, { tenantId, taskId }, head, shown);
    const nextPageToken = following.length > shown.length ? this.tokens.seal([shown.at(-1)!], boundTo) : '';
    return { configs, nextPageToken };
  }
}

function theOnly(ids: readonly string[], taskId: string): string | undefined {
  if (ids.length <= 1) return ids[0];
  if (ids.includes(taskId)) return taskId;
  throw invalidField('pushNotificationConfigId', 'must name one of the several that the task has');
}
