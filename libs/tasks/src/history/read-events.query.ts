import type { Actor, Principal } from '@app/domain';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import type { StoredTaskEvent } from '../queries/task-reader.js';
import { type HistoryPage, HistoryReader, mapPage, type PageRequest } from './history-reader.js';

/** An event for auditors. Its content is absent if there was none, or if it was erased. */
export interface HistoryEvent extends StoredTaskEvent {
  readonly actor: Actor;
  /** Present if the stored content is corrupt: it was altered, or encrypted with a different key. */
  readonly unreadable?: true;
}

/** The events of a task, in order. Errors: TaskNotFound. */
export class ReadEvents extends Query<HistoryPage<HistoryEvent>> {
  constructor(
    readonly principal: Principal,
    readonly taskId: string,
    readonly page: PageRequest,
  ) {
    super();
  }
}

@QueryHandler(ReadEvents)
export class ReadEventsHandler implements IQueryHandler<ReadEvents> {
  constructor(private readonly history: HistoryReader) {}

  async execute({ principal, taskId, page }: ReadEvents): Promise<HistoryPage<HistoryEvent>> {
    await this.history.requireTask(principal, 'ReadEvents', taskId);
    const events = await this.history.events(principal.tenantId, taskId, page);
    return mapPage(events, ({ event, stored }) => {
      const actor = { subject: stored.actor_subject, role: stored.actor_role as Actor['role'] };
      return [{ event, stored, actor, ...(event.missing === 'unreadable' ? { unreadable: true as const } : {}) }];
    });
  }
}
