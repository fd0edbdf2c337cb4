import { invalidField, isTerminal, newId } from '@app/domain';
import { CancelTask, GetTask, SendMessage } from '@app/tasks';
import { readJson, rest } from '@app/wire';
import { Controller, Delete, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { FastifyReply } from 'fastify';
import { Cards } from '../a2a/cards.js';
import { bytesOf, type EdgeRequest, lastEventIdOf, principalOf, traceParentOf } from '../edge/caller.js';
import { agentOf, doorOf } from '../edge/agent-scope.js';
import { SseStreams } from '../edge/streams/sse-streams.js';
import { RestStreams } from './rest-streams.js';

/** The simple REST: tasks with one input and one output, for clients that know nothing of A2A. */
@Controller('a2a')
export class RestTasksController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly streams: RestStreams,
    private readonly sse: SseStreams,
    private readonly cards: Cards,
  ) {}

  @Get('agent')
  agent(@Req() request: EdgeRequest) {
    return rest.encodeAgent(this.cards.describe(agentOf(request)));
  }

  @Post('tasks')
  @HttpCode(201)
  async create(@Req() request: EdgeRequest) {
    const { message } = rest.decodeCreateTask(readJson(bytesOf(request)), idempotencyKey(request) ?? newId());
    const traceParent = traceParentOf(request);
    const said = { message, answered: true, ...(traceParent ? { traceParent } : {}), ...doorOf(request) };
    const { follower } = await this.commands.execute(new SendMessage(principalOf(request), said));
    const view = await follower.view();
    follower.close();
    return rest.encodeTask(view!);
  }

  @Get('tasks/:id')
  async get(@Req() request: EdgeRequest, @Param('id') id: string) {
    return rest.encodeTask(await this.queries.execute(new GetTask(principalOf(request), id, doorOf(request))));
  }

  /** An ended task is answered as it is. */
  @Delete('tasks/:id')
  async cancel(@Req() request: EdgeRequest, @Param('id') id: string) {
    const principal = principalOf(request);
    const view = await this.queries.execute(new GetTask(principal, id, doorOf(request)));
    if (isTerminal(view.state.status)) return rest.encodeTask(view);
    return rest.encodeTask(await this.commands.execute(new CancelTask(principal, id, doorOf(request))));
  }

  @Get('tasks/:id/stream')
  async stream(@Req() request: EdgeRequest, @Res() reply: FastifyReply, @Param('id') id: string): Promise<void> {
    const lastEventId = lastEventIdOf(request);
    const from = { ...doorOf(request), ...(lastEventId === undefined ? {} : { lastEventId }) };
    await this.sse.send(request, reply, await this.streams.open(principalOf(request), id, from));
  }
}

function idempotencyKey(request: EdgeRequest): string | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,256}$/.test(key)) {
    throw invalidField('Idempotency-Key', 'must be 1 to 256 printable ASCII characters without spaces');
  }
  return key;
}
