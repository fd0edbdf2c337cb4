import { Database } from '@app/storage';
import { AgentDirectory } from '@app/tasks';
import { PROTOCOL_VERSIONS } from '@app/wire';
import { Controller, Get, HttpCode, type OnModuleDestroy, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { A2A_BINDINGS, Cards } from '../a2a/cards.js';

/** What this server is and can do, and whether it is alive and ready: one that drains is alive, and takes nothing new. */
@Controller('health')
export class HealthController implements OnModuleDestroy {
  private draining = false;

  constructor(
    private readonly database: Database,
    private readonly agents: AgentDirectory,
    private readonly cards: Cards,
  ) {}

  @Get()
  async health(@Res() reply: FastifyReply): Promise<void> {
    const database = await this.databaseAnswers();
    const { capabilities } = this.cards.describe();
    const status = this.statusWith(database);
    const body = {
      status,
      protocolVersions: PROTOCOL_VERSIONS,
      bindings: [...A2A_BINDINGS, 'REST'],
      capabilities,
      agents: this.agents.all().map(({ name, version }) => ({ name, version })),
      database: database ? 'ok' : 'unreachable',
    };
    void reply.code(codeOf(status)).send(body);
  }

  @Get('live')
  @HttpCode(200)
  live() {
    return { status: 'ok' };
  }

  @Get('ready')
  async ready(@Res() reply: FastifyReply): Promise<void> {
    const status = this.statusWith(await this.databaseAnswers());
    void reply.code(codeOf(status)).send({ status });
  }

  onModuleDestroy(): void {
    this.draining = true;
  }

  private statusWith(database: boolean): Status {
    if (this.draining) return 'draining';
    return database ? 'ok' : 'unavailable';
  }

  private async databaseAnswers(): Promise<boolean> {
    return this.database.pool.query('select 1').then(
      () => true,
      () => false,
    );
  }
}

type Status = 'ok' | 'unavailable' | 'draining';

const codeOf = (status: Status): number => (status === 'ok' ? 200 : 503);
