import { ListPushes } from '@app/webhooks';
import { native } from '@app/wire';
import { Controller, Get, Param, Query, Req } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { type EdgeRequest, principalOf } from '../edge/caller.js';

/** The native API of what a task's webhooks were told, and why not. */
@Controller('api/tasks/:id/pushes')
export class PushesController {
  constructor(private readonly queries: QueryBus) {}

  @Get()
  async list(@Req() request: EdgeRequest, @Param('id') id: string, @Query() query: Record<string, unknown>) {
    const page = native.decodePage(query);
    return native.encodePage('pushes', await this.queries.execute(new ListPushes(principalOf(request), id, page)));
  }
}
