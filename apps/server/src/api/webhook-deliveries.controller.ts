import { ListWebhookDeliveries } from '@app/webhooks';
import { type HttpQuery, native } from '@app/wire';
import { Controller, Get, Param, Query, Req } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { type EdgeRequest, principalOf } from '../edge/callers/edge-request.js';

/** The native API of the deliveries to a task's webhooks. */
@Controller('api/tasks/:id/pushes')
export class WebhookDeliveriesController {
  constructor(private readonly queries: QueryBus) {}

  @Get()
  async list(@Req() request: EdgeRequest, @Param('id') id: string, @Query() query: HttpQuery) {
    const page = native.decodePage(query);
    return native.encodePage(
      'pushes',
      await this.queries.execute(new ListWebhookDeliveries(principalOf(request), id, page)),
    );
  }
}
