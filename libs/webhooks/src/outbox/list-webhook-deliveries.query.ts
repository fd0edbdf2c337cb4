import type { Principal } from '@app/domain';
import { type HistoryPage, type PageRequest, TaskAccess } from '@app/tasks';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { type WebhookDelivery, WebhookOutbox } from './webhook-outbox.js';

/** Lists the deliveries of a task's webhooks by version. `limit` counts versions. Errors: TaskNotFound. */
export class ListWebhookDeliveries extends Query<HistoryPage<WebhookDelivery>> {
  constructor(
    readonly principal: Principal,
    readonly taskId: string,
    readonly page: PageRequest,
  ) {
    super();
  }
}

@QueryHandler(ListWebhookDeliveries)
export class ListWebhookDeliveriesHandler implements IQueryHandler<ListWebhookDeliveries> {
  constructor(
    private readonly outbox: WebhookOutbox,
    private readonly access: TaskAccess,
  ) {}

  async execute({
    principal,
    taskId,
    page: { after, limit },
  }: ListWebhookDeliveries): Promise<HistoryPage<WebhookDelivery>> {
    await this.access.require(principal, 'ListWebhookDeliveries', { taskId }, { replied: true });
    const deliveries = await this.outbox.listForTask(principal.tenantId, taskId, after, limit + 1);
    const versions = [...new Set(deliveries.map(({ version }) => version))].slice(0, limit);
    const last = versions.at(-1) ?? after;
    const items = deliveries.filter(({ version }) => version <= last);
    return { items, nextAfter: items.length < deliveries.length ? last : null };
  }
}
