import type { Principal, TraceContext } from '@app/domain';
import { SubscribeToTask } from '@app/streaming';
import { GetTask, ListTasks, ResumeTask } from '@app/tasks';
import { type HttpQuery, native, PROTOCOLS } from '@app/wire';
import { Controller, Get, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { FastifyReply } from 'fastify';
import { encodeStream } from '../a2a/a2a-caller.js';
import type { EdgeRequest } from '../edge/callers/edge-request.js';
import { CurrentPrincipal, CurrentTrace, LastEventId } from '../edge/callers/request-parameters.js';
import { Surface } from '../edge/routes/route-config.js';
import { SseStreams } from '../edge/streams/sse-streams.js';

/** The native API of tasks, in the terms of the domain. It includes tasks that ended in a direct message response. */
@Surface('api')
@Controller('api/tasks')
export class TasksController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly sse: SseStreams,
  ) {}

  @Get()
  async list(@CurrentPrincipal() principal: Principal, @Query() query: HttpQuery) {
    const request = { ...native.decodeListTasks(query), replied: true };
    const page = await this.queries.execute(new ListTasks(principal, request));
    return { ...page, tasks: page.tasks.map(native.encodeTask) };
  }

  @Get(':id')
  async get(@CurrentPrincipal() principal: Principal, @Param('id') id: string, @Query() query: HttpQuery) {
    native.requireNoParameters(query);
    return native.encodeTask(await this.queries.execute(new GetTask(principal, id, { replied: true })));
  }

  /** Continues a task after an out-of-band authorization. */
  @Post(':id(^[^:/]+)::resume')
  @HttpCode(200)
  async resume(
    @CurrentPrincipal() principal: Principal,
    @CurrentTrace() trace: TraceContext | undefined,
    @Param('id') id: string,
    @Query() query: HttpQuery,
  ) {
    native.requireNoParameters(query);
    return native.encodeTask(await this.commands.execute(new ResumeTask(principal, id, trace)));
  }

  /** Streams updates in the format of A2A v1.0, from the snapshot to the end of the task. */
  @Get(':id/stream')
  async stream(
    @CurrentPrincipal() principal: Principal,
    @LastEventId() lastEventId: string | undefined,
    @Req() request: EdgeRequest,
    @Res() reply: FastifyReply,
    @Param('id') id: string,
    @Query() query: HttpQuery,
  ): Promise<void> {
    native.requireNoParameters(query);
    const { codec } = PROTOCOLS['1.0'];
    const stream = await this.queries.execute(new SubscribeToTask(principal, id, { until: 'end', lastEventId }));
    await this.sse.send(
      request,
      reply,
      encodeStream(stream, (update) => codec.encodeUpdate(update)),
    );
  }
}
