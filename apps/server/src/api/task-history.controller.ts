import { ReadDeliveries, ReadDeliveryParts, ReadEvents, ReadMessages, ReadRuns } from '@app/tasks';
import { type HttpQuery, native } from '@app/wire';
import { Controller, Get, Param, Query, Req } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { type EdgeRequest, principalOf } from '../edge/callers/edge-request.js';

/** The native API of one task's history: paged lists of everything, including what the bounded views omit. */
@Controller('api/tasks/:id')
export class TaskHistoryController {
  constructor(private readonly queries: QueryBus) {}

  @Get('events')
  async events(@Req() request: EdgeRequest, @Param('id') id: string, @Query() query: HttpQuery) {
    const page = await this.queries.execute(new ReadEvents(principalOf(request), id, native.decodePage(query)));
    return native.encodePage('events', { ...page, items: page.items.map(native.encodeEvent) });
  }

  @Get('messages')
  async messages(@Req() request: EdgeRequest, @Param('id') id: string, @Query() query: HttpQuery) {
    const page = native.decodePage(query);
    return native.encodePage('messages', await this.queries.execute(new ReadMessages(principalOf(request), id, page)));
  }

  @Get('deliveries')
  async deliveries(@Req() request: EdgeRequest, @Param('id') id: string, @Query() query: HttpQuery) {
    const page = native.decodePage(query);
    const read = new ReadDeliveries(principalOf(request), id, page);
    return native.encodePage('deliveries', await this.queries.execute(read));
  }

  @Get('deliveries/:artifactId/parts')
  async parts(
    @Req() request: EdgeRequest,
    @Param('id') id: string,
    @Param('artifactId') artifactId: string,
    @Query() query: HttpQuery,
  ) {
    const read = new ReadDeliveryParts(principalOf(request), id, artifactId, native.decodePage(query));
    return native.encodePage('parts', await this.queries.execute(read));
  }

  @Get('runs')
  async runs(@Req() request: EdgeRequest, @Param('id') id: string, @Query() query: HttpQuery) {
    const page = native.decodePage(query);
    return native.encodePage('runs', await this.queries.execute(new ReadRuns(principalOf(request), id, page)));
  }
}
