import { setTimeout as delay } from 'node:timers/promises';
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
  /** One question at a time, for all probes: each would hold a connection for as long as the database is silent. */
  private asking: Promise<boolean> | null = null;

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

  private databaseAnswers(): Promise<boolean> {
    this.asking ??= this.database.pool
      .query('select 1')
      .then(
        () => true,
        () => false,
      )
      .finally(() => (this.asking = null));
    return Promise.race([this.asking, delay(PROBE_MS, false, { ref: false })]);
  }
}

/** Whoever probes has little patience, and a database that takes longer is as good as silent. */
const PROBE_MS = 2_000;

type Status = 'ok' | 'unavailable' | 'draining';

const codeOf = (status: Status): number => (status === 'ok' ? 200 : 503);
