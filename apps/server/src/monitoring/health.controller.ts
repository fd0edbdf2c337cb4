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
  private running: Promise<DatabaseState> | null = null;

  constructor(
    private readonly database: Database,
    private readonly agents: AgentDirectory,
    private readonly cards: AgentCards,
  ) {}

  @Get()
  async health(@Res() reply: FastifyReply): Promise<void> {
    const database = await this.databaseState();
    const { capabilities } = this.cards.describe();
    const status = this.statusWith(database);
    const body = {
      status,
      protocolVersions: PROTOCOL_VERSIONS,
      bindings: [...A2A_BINDINGS, 'REST'],
      capabilities,
      agents: this.agents.all().map(({ name, version }) => ({ name, version })),
      database,
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
    const database = await this.databaseState();
    const status = this.statusWith(database);
    void reply.code(codeOf(status)).send({ status, ...(database === 'ok' ? {} : { database }) });
  }

  onModuleDestroy(): void {
    this.isClosing = true;
  }

  private statusWith(database: DatabaseState): Status {
    if (this.isClosing) return 'draining';
    return database === 'ok' ? 'ok' : 'unavailable';
  }

  private databaseState(): Promise<DatabaseState> {
    this.running ??= this.database.pool
      .query<{ standby: boolean }>('select pg_is_in_recovery() as standby')
      .then(
        ({ rows }): DatabaseState => (rows[0]!.standby ? 'read-only' : 'ok'),
        (): DatabaseState => 'unreachable',
      )
      .finally(() => (this.running = null));
    return Promise.race([this.running, delay(PROBE_TIMEOUT_MS, 'unreachable' as const, { ref: false })]);
  }
}

/** Probes have short timeouts. A database that takes longer to respond counts as unreachable. */
const PROBE_TIMEOUT_MS = 2_000;

/** `read-only`: the server has become a standby, for example during a failover. */
type DatabaseState = 'ok' | 'read-only' | 'unreachable';

type Status = 'ok' | 'unavailable' | 'draining';

const codeOf = (status: Status): number => (status === 'ok' ? 200 : 503);
