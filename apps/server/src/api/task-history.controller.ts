import type { Principal } from '@app/domain';
import { ReadPublishedArtifacts, ReadPublishedParts, ReadEvents, ReadMessages, ReadRuns } from '@app/tasks';
import { type HttpQuery, native } from '@app/wire';
import { Controller, Get, Param, Query } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { CurrentPrincipal } from '../edge/callers/request-parameters.js';
import { Surface } from '../edge/routes/route-config.js';

/** The native API of one task's history: paged lists of everything, including what the bounded views omit. */
@Surface('api')
@Controller('api/tasks/:id')
export class TaskHistoryController {
  constructor(private readonly queries: QueryBus) {}

  @Get('events')
  async events(@CurrentPrincipal() principal: Principal, @Param('id') id: string, @Query() query: HttpQuery) {
    const page = await this.queries.execute(new ReadEvents(principal, id, native.decodePage(query)));
    return native.encodePage('events', { ...page, items: page.items.map(native.encodeEvent) });
  }

  @Get('messages')
  async messages(@CurrentPrincipal() principal: Principal, @Param('id') id: string, @Query() query: HttpQuery) {
    const page = native.decodePage(query);
    return native.encodePage('messages', await this.queries.execute(new ReadMessages(principal, id, page)));
  }

  @Get('deliveries')
  async deliveries(@CurrentPrincipal() principal: Principal, @Param('id') id: string, @Query() query: HttpQuery) {
    const page = native.decodePage(query);
    const read = new ReadPublishedArtifacts(principal, id, page);
    return native.encodePage('deliveries', await this.queries.execute(read));
  }

  @Get('deliveries/:artifactId/parts')
  async parts(
    @CurrentPrincipal() principal: Principal,
    @Param('id') id: string,
    @Param('artifactId') artifactId: string,
    @Query() query: HttpQuery,
  ) {
    const read = new ReadPublishedParts(principal, id, artifactId, native.decodePage(query));
    return native.encodePage('parts', await this.queries.execute(read));
  }

  @Get('runs')
  async runs(@CurrentPrincipal() principal: Principal, @Param('id') id: string, @Query() query: HttpQuery) {
    const page = native.decodePage(query);
    return native.encodePage('runs', await this.queries.execute(new ReadRuns(principal, id, page)));
  }
}
