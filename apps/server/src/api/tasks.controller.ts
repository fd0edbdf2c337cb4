import { SubscribeToTask } from '@app/streaming';
import { GetTask, ListTasks, ResumeTask } from '@app/tasks';
import { native, v1 } from '@app/wire';
import { Controller, Get, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { FastifyReply } from 'fastify';
import { type EdgeRequest, lastEventIdOf, principalOf } from '../edge/caller.js';
import { SseStreams } from '../edge/streams/sse-streams.js';

/** The native API of tasks: what they are in the domain's own words, bare replies included. */
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

  /** Goes on after an authorization that happened elsewhere. */
  @Post(':id(^[^:/]+)::resume')
  @HttpCode(200)
  async resume(@Req() request: EdgeRequest, @Param('id') id: string) {
    return native.encodeTask(await this.commands.execute(new ResumeTask(principalOf(request), id)));
  }

  /** The native watch: updates as A2A v1.0 writes them, from the snapshot to the end of the task. */
  @Get(':id/stream')
  async stream(@Req() request: EdgeRequest, @Res() reply: FastifyReply, @Param('id') id: string): Promise<void> {
    const lastEventId = lastEventIdOf(request);
    const from = lastEventId === undefined ? {} : { lastEventId };
    const stream = await this.queries.execute(new SubscribeToTask(principalOf(request), id, { until: 'end', ...from }));
    await this.sse.send(request, reply, {
      task: stream.task,
      async *frames(signal) {
        for await (const { id: version, update } of stream.frames(signal)) {
          yield { id: version, data: JSON.stringify(v1.codec.encodeUpdate(update)) };
        }
      },
    });
  }
}
