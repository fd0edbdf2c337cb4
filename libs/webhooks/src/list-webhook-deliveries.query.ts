import type { Principal } from '@app/domain';
import { AccessRecord, type HistoryPage, type PageRequest, TaskReader, visibleTask } from '@app/tasks';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { type PushDelivery, PushOutbox } from './webhook-outbox.js';

/** What became of telling a task's webhooks, by versions; `limit` counts versions. Errors: TaskNotFound. */
export class ListPushes extends Query<HistoryPage<PushDelivery>> {
  constructor(
    readonly principal: Principal,
    readonly taskId: string,
    readonly page: PageRequest,
  ) {
    super();
  }
}

@QueryHandler(ListPushes)
export class ListPushesHandler implements IQueryHandler<ListPushes> {
  constructor(
    private readonly outbox: PushOutbox,
    private readonly reader: TaskReader,
    private readonly access: AccessRecord,
  ) {}

  async execute({ principal, taskId, page: { after, limit } }: ListPushes): Promise<HistoryPage<PushDelivery>> {
    await visibleTask(principal, taskId, { reader: this.reader, access: this.access });
    const found = await this.outbox.ofTask(principal.tenantId, taskId, after, limit + 1);
    const versions = [...new Set(found.map(({ version }) => version))].slice(0, limit);
    const last = versions.at(-1) ?? after;
    const items = found.filter(({ version }) => version <= last);
    return { items, nextAfter: items.length < found.length ? last : null };
  }
}
