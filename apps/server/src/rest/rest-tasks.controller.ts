import { invalidField, newId } from '@app/domain';
import { GetTask } from '@app/tasks';
import { parseAndCheckJson, rest } from '@app/wire';
import { Controller, Delete, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import type { FastifyReply } from 'fastify';
import { AgentCards } from '../a2a/cards.js';
import { agentOf, agentScopeOf } from '../edge/callers/agent-scope.js';
import { type EdgeRequest, lastEventIdOf, principalOf, traceParentOf } from '../edge/callers/edge-request.js';
import { bodyOf } from '../edge/http/request-body.js';
import { SseStreams } from '../edge/streams/sse-streams.js';
import { RestTasks } from './rest-tasks.js';

/** The simple REST: tasks with one input and one output, for clients that do not use A2A. */
@Controller('a2a')
export class RestTasksController {
  constructor(
    private readonly queries: QueryBus,
    private readonly tasks: RestTasks,
    private readonly sse: SseStreams,
    private readonly cards: AgentCards,
  ) {}

  @Get('agent')
  agent(@Req() request: EdgeRequest) {
    return rest.encodeAgent(this.cards.describe(agentOf(request)));
  }

  @Post('tasks')
  @HttpCode(201)
  async create(@Req() request: EdgeRequest) {
    const body = parseAndCheckJson(bodyOf(request));
    const { message } = rest.decodeCreateTask(body, idempotencyKeyOf(request) ?? newId());
    const options = { ...agentScopeOf(request), traceParent: traceParentOf(request) };
    return rest.encodeTask(await this.tasks.create(principalOf(request), message, options));
  }

  @Get('tasks/:id')
  async get(@Req() request: EdgeRequest, @Param('id') id: string) {
    return rest.encodeTask(await this.queries.execute(new GetTask(principalOf(request), id, agentScopeOf(request))));
  }

  @Delete('tasks/:id')
  async cancel(@Req() request: EdgeRequest, @Param('id') id: string) {
    return rest.encodeTask(await this.tasks.cancel(principalOf(request), id, agentScopeOf(request)));
  }

  @Get('tasks/:id/stream')
  async stream(@Req() request: EdgeRequest, @Res() reply: FastifyReply, @Param('id') id: string): Promise<void> {
    const options = { ...agentScopeOf(request), lastEventId: lastEventIdOf(request) };
    await this.sse.send(request, reply, await this.tasks.openStream(principalOf(request), id, options));
  }
}

function idempotencyKeyOf(request: EdgeRequest): string | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,256}$/.test(key)) {
    throw invalidField('Idempotency-Key', 'must be 1 to 256 printable ASCII characters without spaces');
  }
  return key;
}
