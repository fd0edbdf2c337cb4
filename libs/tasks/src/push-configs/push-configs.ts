import { DomainError, type Principal, taskNotFound } from '@app/domain';
import type { Database, NamedStatement, StreamHead, WebhookCipher, WebhookTarget } from '@app/storage';
import type { TaskWriter } from '../commands/task-writer.js';
import { isThere } from '../access/visible-task.js';

/** A webhook as its owner reads it. */
export interface PushConfigView extends WebhookTarget {
  readonly id: string;
  readonly taskId: string;
}

/** A webhook as a client asks for it. */
export interface NewPushConfig extends WebhookTarget {
  /** Absent: the one that a task can have without a name, whose id is the task's. */
  readonly id?: string;
}

/** What is sealed: the target alone, whatever else the request carried along. */
export const webhookOf = ({ url, token, authentication }: NewPushConfig): WebhookTarget => ({
  url,
  ...(token === undefined ? {} : { token }),
  ...(authentication === undefined ? {} : { authentication }),
});

const LOAD_CONFIGS: NamedStatement = {
  name: 'load_push_configs',
  text: `select config_id, sealed_target from push_config
    where tenant_id = $1 and task_id = $2 and config_id = any($3::text[])`,
};

/** What names the task of a webhook; with `agent`, only one of that agent's. */
export interface PushedTask {
  readonly taskId: string;
  readonly agent?: string;
}

/** Head of a task whose webhooks this caller may manage. Errors: TaskNotFound. */
export async function pushableTask(
  writer: TaskWriter,
  principal: Principal,
  { taskId, agent }: PushedTask,
): Promise<StreamHead> {
  const { tenantId } = principal;
  const loaded = await writer.head(tenantId, taskId);
  if (loaded === null) throw taskNotFound(taskId);
  const { state } = loaded.head;
  if (state.status === 'replied' || !isThere(principal, state, agent)) throw taskNotFound(taskId);
  return loaded.head;
}

/** Webhooks of a task in the order of the ids, readable; none once the task is erased. */
export async function readPushConfigs(
  { database, cipher }: { readonly database: Database; readonly cipher: WebhookCipher },
  { tenantId, taskId }: { tenantId: string; taskId: string },
  { key }: StreamHead,
  ids: readonly string[],
): Promise<PushConfigView[]> {
  if (ids.length === 0 || key === null) return [];
  const rows = await database.run<{ config_id: string; sealed_target: Buffer }>(LOAD_CONFIGS, [
    tenantId,
    taskId,
    ids,
  ]);
  const sealed = new Map(rows.map((row) => [row.config_id, row.sealed_target]));
  return ids.flatMap((configId) => {
    const target = sealed.get(configId);
    return target === undefined
      ? []
      : [viewOf(taskId, configId, cipher.open(target, key, { tenantId, taskId, configId }))];
  });
}

/** Credentials go in and never come out. */
export const viewOf = (taskId: string, id: string, { url, token, authentication }: WebhookTarget): PushConfigView => ({
  id,
  taskId,
  url,
  ...(token === undefined ? {} : { token }),
  ...(authentication === undefined ? {} : { authentication: { scheme: authentication.scheme } }),
});

/** The A2A specification gives a missing configuration the error of a missing task (section 3.1.8). */
export const pushConfigNotFound = (taskId: string) =>
  new DomainError('TaskNotFound', 'the task has no such push notification configuration', { taskId });
