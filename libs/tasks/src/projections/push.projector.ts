import { evolve, isClientVisible, type RecordedEvent, type TaskState } from '@app/domain';
import type { PushRows, WebhookTarget } from '@app/storage';

/**
 * What an append does to the webhooks of its task: each one that is there when an event comes is told of it, if it tells
 * a client anything. Absent for a task without webhooks, whose appends they must cost nothing. Pure.
 */
export function projectPushes(
  before: TaskState | null,
  events: readonly RecordedEvent[],
  after: TaskState,
  target: WebhookTarget | undefined,
): PushRows | undefined {
  if (before?.pushConfigs === undefined && after.pushConfigs === undefined) return undefined;
  let state = before;
  let set: PushRows['set'];
  const deleted: string[] = [];
  const deliveries: { config_id: string; version: number }[] = [];
  for (const event of events) {
    const next = evolve(state, event, event);
    if (event.type === 'PushConfigSet' && target !== undefined) set = { ...event.facts, target };
    if (event.type === 'PushConfigDeleted') deleted.push(event.facts.configId);
    if (isClientVisible(event, state, next)) {
      for (const id of state?.pushConfigs ?? []) deliveries.push({ config_id: id, version: event.version });
    }
    state = next;
  }
  return {
    ...(set === undefined ? {} : { set }),
    ...(deleted.length === 0 ? {} : { deleted }),
    ...(deliveries.length === 0 ? {} : { deliveries }),
  };
}
