import { setTimeout as delay } from 'node:timers/promises';
import { Database } from '@app/storage';
import { AgentDirectory } from '@app/tasks';
import { PROTOCOL_VERSIONS } from '@app/wire';
import { Controller, Get, HttpCode, type OnModuleDestroy, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { A2A_BINDINGS, AgentCards } from '../a2a/cards.js';
import { Public, Surface } from '../edge/routes/route-config.js';

/** Reports what this server offers, and whether it is alive and ready. During shutdown it is alive but not ready. */
@Surface('operations')
@Public()
@Controller('health')
export class HealthController implements OnModuleDestroy {
  private isClosing = false;
  /** All probes share one query, because each query holds a connection until the database responds. */
  private running: Promise<boolean> | null = null;

  constructor(
    private readonly database: Database,
    private readonly agents: AgentDirectory,
    private readonly cards: AgentCards,
  ) {}

  @Get()
  async health(@Res() reply: FastifyReply): Promise<void> {
    const isReachable = await this.isDatabaseReachable();
    const { capabilities } = this.cards.describe();
    const status = this.statusWith(isReachable);
    const body = {
      status,
      protocolVersions: PROTOCOL_VERSIONS,
      bindings: [...A2A_BINDINGS, 'REST'],
      capabilities,
      agents: this.agents.all().map(({ name, version }) => ({ name, version })),
      database: isReachable ? 'ok' : 'unreachable',
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
    const status = this.statusWith(await this.isDatabaseReachable());
    void reply.code(codeOf(status)).send({ status });
  }

  onModuleDestroy(): void {
    this.isClosing = true;
  }

  private statusWith(isReachable: boolean): Status {
    if (this.isClosing) return 'draining';
    return isReachable ? 'ok' : 'unavailable';
  }

  private isDatabaseReachable(): Promise<boolean> {
    this.running ??= this.database.pool
      .query('select 1')
      .then(
        () => true,
        () => false,
      )
      .finally(() => (this.running = null));
    return Promise.race([this.running, delay(PROBE_TIMEOUT_MS, false, { ref: false })]);
  }
}

/** Probes have short timeouts. A database that takes longer to respond counts as unreachable. */
const PROBE_TIMEOUT_MS = 2_000;

type Status = 'ok' | 'unavailable' | 'draining';

const codeOf = (status: Status): number => (status === 'ok' ? 200 : 503);
