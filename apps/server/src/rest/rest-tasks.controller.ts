import { invalidField, newId, type Principal, type TraceContext } from '@app/domain';
import { GetTask } from '@app/tasks';
import { parseAndCheckJson, rest } from '@app/wire';
import { Controller, Delete, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import type { FastifyReply } from 'fastify';
import { AgentCards } from '../a2a/cards.js';
import type { AgentScope } from '../edge/callers/agent-scope.js';
import type { Client } from '../edge/callers/client.js';
import type { EdgeRequest } from '../edge/callers/edge-request.js';
import {
  CurrentClient,
  CurrentPrincipal,
  CurrentScope,
  CurrentTrace,
  LastEventId,
} from '../edge/callers/request-parameters.js';
import { bodyOf } from '../edge/http/request-body.js';
import { Surface } from '../edge/routes/route-config.js';
import { SseStreams } from '../edge/streams/sse-streams.js';
import { RestTasks } from './rest-tasks.js';

/** The simple REST: tasks with one input and one output, for clients that do not use A2A. */
@Surface('rest')
@Controller('a2a')
export class RestTasksController {
  constructor(
    private readonly queries: QueryBus,
    private readonly tasks: RestTasks,
    private readonly sse: SseStreams,
    private readonly cards: AgentCards,
  ) {}

  @Get('agent')
  agent(@CurrentScope() { agent }: AgentScope) {
    return rest.encodeAgent(this.cards.describe(agent));
  }

  @Post('tasks')
  @HttpCode(201)
  async create(
    @CurrentPrincipal() principal: Principal,
    @CurrentScope() scope: AgentScope,
    @CurrentTrace() trace: TraceContext | undefined,
    @CurrentClient() client: Client,
    @Req() request: EdgeRequest,
  ) {
    const body = parseAndCheckJson(bodyOf(request));
    const send = rest.decodeCreateTask(body, idempotencyKeyOf(request) ?? newId());
    const created = this.tasks.create(principal, send, { ...scope, client, trace });
    return rest.encodeTask(await created.catch((error: unknown) => Promise.reject(rest.withOwnNames(error))));
  }

  @Get('tasks/:id')
  async get(@CurrentPrincipal() principal: Principal, @CurrentScope() scope: AgentScope, @Param('id') id: string) {
    return rest.encodeTask(await this.queries.execute(new GetTask(principal, id, scope)));
  }

  @Delete('tasks/:id')
  async cancel(
    @CurrentPrincipal() principal: Principal,
    @CurrentScope() scope: AgentScope,
    @CurrentTrace() trace: TraceContext | undefined,
    @Param('id') id: string,
  ) {
    return rest.encodeTask(await this.tasks.cancel(principal, id, { ...scope, trace }));
  }

  @Get('tasks/:id/stream')
  async stream(
    @CurrentPrincipal() principal: Principal,
    @CurrentScope() scope: AgentScope,
    @LastEventId() lastEventId: string | undefined,
    @Req() request: EdgeRequest,
    @Res() reply: FastifyReply,
    @Param('id') id: string,
  ): Promise<void> {
    await this.sse.send(request, reply, await this.tasks.openStream(principal, id, { ...scope, lastEventId }));
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
