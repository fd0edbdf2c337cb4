import type { Principal } from '@app/domain';
import { ListWebhookDeliveries } from '@app/webhooks';
import { type HttpQuery, native } from '@app/wire';
import { Controller, Get, Param, Query } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { CurrentPrincipal } from '../edge/callers/request-parameters.js';
import { Surface } from '../edge/routes/route-config.js';

/** The native API of the deliveries to a task's webhooks. */
@Surface('api')
@Controller('api/tasks/:id/pushes')
export class WebhookDeliveriesController {
  constructor(private readonly queries: QueryBus) {}

  @Get()
  async list(@CurrentPrincipal() principal: Principal, @Param('id') id: string, @Query() query: HttpQuery) {
    const page = native.decodePage(query);
    return native.encodePage('pushes', await this.queries.execute(new ListWebhookDeliveries(principal, id, page)));
  }
}
