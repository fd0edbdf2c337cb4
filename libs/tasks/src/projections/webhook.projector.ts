import { evolve, isClientVisible, type RecordedEvent, type TaskState, type WebhookId } from '@app/domain';
import type { WebhookRows, WebhookTarget } from '@app/storage';

/**
 * Returns the rows that an append changes for the webhooks of its task: the configurations, and a delivery to each
 * configured webhook for every event that clients are notified of. Undefined for a task without webhooks, so that its
 * appends cost nothing more. Pure.
 */
export function projectWebhookRows(
  before: TaskState | null,
  events: readonly RecordedEvent[],
  after: TaskState,
  target: WebhookTarget | undefined,
): WebhookRows | undefined {
  if (before?.pushConfigs === undefined && after.pushConfigs === undefined) return undefined;
  let state = before;
  let set: WebhookRows['set'];
  const deleted: ReturnType<typeof columnsOf>[] = [];
  const retired: ReturnType<typeof columnsOf>[] = [];
  const deliveries: (ReturnType<typeof columnsOf> & { version: number })[] = [];
  for (const event of events) {
    const next = evolve(state, event, event);
    if (event.type === 'PushConfigSet' && target !== undefined) set = { ...event.facts, target };
    if (event.type === 'PushConfigDeleted') {
      (event.facts.reason === undefined ? deleted : retired).push(columnsOf(event.facts));
    }
    if (isClientVisible(event, state, next)) {
      for (const id of state?.pushConfigs ?? []) deliveries.push({ ...columnsOf(id), version: event.version });
    }
    state = next;
  }
  return {
    ...(set === undefined ? {} : { set }),
    ...(deleted.length === 0 ? {} : { deleted }),
    ...(retired.length === 0 ? {} : { retired }),
    ...(deliveries.length === 0 ? {} : { deliveries }),
  };
}

const columnsOf = ({ subject, configId }: WebhookId) => ({ subject, config_id: configId });
