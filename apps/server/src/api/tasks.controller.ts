import { SubscribeToTask } from '@app/streaming';
import { GetTask, ListTasks, ResumeTask } from '@app/tasks';
import { native, PROTOCOLS } from '@app/wire';
import { Controller, Get, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { FastifyReply } from 'fastify';
import { encodeStream } from '../a2a/a2a-caller.js';
import { type EdgeRequest, lastEventIdOf, principalOf } from '../edge/callers/edge-request.js';
import { SseStreams } from '../edge/streams/sse-streams.js';

/** The native API of tasks, in the terms of the domain. It includes tasks that ended in a direct message response. */
@Controller('api/tasks')
export class TasksController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly sse: SseStreams,
  ) {}

  @Get()
  async list(@Req() request: EdgeRequest, @Query() query: Record<string, string>) {
    const page = await this.queries.execute(
      new ListTasks(principalOf(request), { ...native.decodeListTasks(query), replied: true }),
    );
    return { ...page, tasks: page.tasks.map(native.encodeTask) };
  }

  @Get(':id')
  async get(@Req() request: EdgeRequest, @Param('id') id: string) {
    return native.encodeTask(await this.queries.execute(new GetTask(principalOf(request), id, { replied: true })));
  }

  /** Continues a task after an out-of-band authorization. */
  @Post(':id(^[^:/]+)::resume')
  @HttpCode(200)
  async resume(@Req() request: EdgeRequest, @Param('id') id: string) {
    return native.encodeTask(await this.commands.execute(new ResumeTask(principalOf(request), id)));
  }

  /** Streams updates in the format of A2A v1.0, from the snapshot to the end of the task. */
  @Get(':id/stream')
  async stream(@Req() request: EdgeRequest, @Res() reply: FastifyReply, @Param('id') id: string): Promise<void> {
    const { codec } = PROTOCOLS['1.0'];
    const options = { until: 'end', lastEventId: lastEventIdOf(request) } as const;
    const stream = await this.queries.execute(new SubscribeToTask(principalOf(request), id, options));
    await this.sse.send(
      request,
      reply,
      encodeStream(stream, (update) => codec.encodeUpdate(update)),
    );
  }
}
