import { decide, eventIdOf, positionEvents, type TaskCommand } from '@app/domain';
import type { TaskHead } from '@app/storage';
import { aTaskId } from './tasks.js';
import type { Append } from '../../libs/event-log/src/append.js';

export const TENANT = 'acme';
export const TIME = '2026-01-01T00:00:00.000Z';
export const FINGERPRINT = Buffer.alloc(32, 1);

/** Returns the append of a command's events to the task with a label, without rows of the read models. */
export function anAppend(
  task: string,
  head: TaskHead | null,
  command: TaskCommand,
  changes: Partial<Append> = {},
): Append {
  const taskId = aTaskId(task);
  const { commandId = `command ${Math.random()}` } = changes;
  const before = head?.state ?? null;
  const decided = decide(before, taskId, command, TIME);
  const eventIds = decided.map((_, ordinal) => eventIdOf(TENANT, taskId, commandId, ordinal));
  const { events, causes, after } = positionEvents(before, decided, { recordedAt: TIME, eventIds });
  return {
    tenantId: TENANT,
    taskId,
    head,
    events,
    causes,
    state: after,
    rows: { queue: null },
    recordedAt: TIME,
    actor: { subject: 'alice', role: 'member' },
    commandId,
    fingerprint: FINGERPRINT,
    leaseMs: 1_000,
    ...changes,
  };
}
