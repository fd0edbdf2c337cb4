import { Database } from '@app/storage';
import { AgentDirectory } from '@app/tasks';
import { PROTOCOL_VERSIONS } from '@app/wire';
import { Controller, Get, HttpCode, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { A2A_BINDINGS, Cards } from '../a2a/cards.js';

/** What this server is and can do, and whether it is alive and ready. */
@Controller('health')
export class HealthController {
  constructor(
    private readonly database: Database,
    private readonly agents: AgentDirectory,
    private readonly cards: Cards,
  ) {}

  @Get()
  async health(@Res() reply: FastifyReply): Promise<void> {
    const database = await this.databaseAnswers();
    const { capabilities } = this.cards.describe();
    const body = {
      status: database ? 'ok' : 'unavailable',
      protocolVersions: PROTOCOL_VERSIONS,
      bindings: [...A2A_BINDINGS, 'REST'],
      capabilities,
      agents: this.agents.all().map(({ name, version }) => ({ name, version })),
      database: database ? 'ok' : 'unreachable',
    };
    void reply.code(database ? 200 : 503).send(body);
  }

  @Get('live')
  @HttpCode(200)
  live() {
    return { status: 'ok' };
  }

  @Get('ready')
  async ready(@Res() reply: FastifyReply): Promise<void> {
    const ready = await this.databaseAnswers();
    void reply.code(ready ? 200 : 503).send({ status: ready ? 'ok' : 'unavailable' });
  }

  private async databaseAnswers(): Promise<boolean> {
    return this.database.pool.query('select 1').then(
      () => true,
      () => false,
    );
  }
}
