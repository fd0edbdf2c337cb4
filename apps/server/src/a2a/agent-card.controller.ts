import { createHash } from 'node:crypto';
import { protocolVersionOf } from '@app/wire';
import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { agentOf } from '../edge/callers/agent-scope.js';
import type { EdgeRequest } from '../edge/callers/edge-request.js';
import { Public, Surface } from '../edge/routes/route-config.js';
import { AgentCards } from './cards.js';

/** Discovery: the agent card in the version of the request, or in the configured form. It is cacheable. */
@Surface('discovery')
@Public()
@Controller('.well-known')
export class AgentCardController {
  private readonly startedAt = new Date().toUTCString();

  constructor(private readonly cards: AgentCards) {}

  @Get('agent-card.json')
  card(@Req() request: EdgeRequest, @Res() reply: FastifyReply): void {
    const header = request.headers['a2a-version'];
    const version = header === undefined || header === '' ? undefined : protocolVersionOf(header);
    const body = JSON.stringify(this.cards.encode(agentOf(request), version));
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    reply.header('ETag', etag).header('Last-Modified', this.startedAt).header('Cache-Control', 'public, max-age=60');
    if (matchesEtag(request.headers['if-none-match'], etag)) void reply.code(304).send();
    else void reply.header('Content-Type', 'application/json').send(body);
  }
}

const matchesEtag = (header: string | undefined, etag: string): boolean =>
  header !== undefined && header.split(',').some((tag) => ['*', etag, `W/${etag}`].includes(tag.trim()));
