import { AccessModule, AuditLogModule } from '@app/access';
import type { Config } from '@app/config';
import { StreamingModule } from '@app/streaming';
import { WebhooksModule } from '@app/webhooks';
import { type Agents, ExecutionModule } from '@app/execution';
import { type Storage, StorageModule } from '@app/storage';
import { CancelPolicy, PushPolicy, TasksModule } from '@app/tasks';
import { type DynamicModule, Module } from '@nestjs/common';
import { A2aOperations } from './a2a/a2a-operations.js';
import { AgentCardController } from './a2a/agent-card.controller.js';
import { AgentCards, CardOptions } from './a2a/cards.js';
import { BlockingSends } from './a2a/blocking-sends.js';
import { HttpJsonController } from './a2a/http-json.controller.js';
import { KeySetController } from './a2a/key-set.controller.js';
import { JsonRpcController } from './a2a/json-rpc.controller.js';
import { AuditLogController } from './api/audit-log.controller.js';
import { WebhookDeliveriesController } from './api/webhook-deliveries.controller.js';
import { TaskHistoryController } from './api/task-history.controller.js';
import { TasksController } from './api/tasks.controller.js';
import { WorkersController } from './api/workers.controller.js';
import { CredentialRecheck } from './edge/streams/credential-recheck.js';
import { SseStreams } from './edge/streams/sse-streams.js';
import { Metrics } from './monitoring/metrics.js';
import { MetricsController } from './monitoring/metrics.controller.js';
import { HealthController } from './monitoring/health.controller.js';
import { UnknownPathsController } from './edge/routes/unknown-paths.controller.js';
import { RestTasks } from './rest/rest-tasks.js';
import { RestTasksController } from './rest/rest-tasks.controller.js';

interface ServerOptions {
  readonly config: Config;
  readonly storage: Storage;
  readonly agents: Agents;
  /** The token of the bootstrap admin. Null: there is none. */
  readonly token: string | null;
  /** With `PORT=0` it is known only when the server listens. */
  readonly publicUrl: () => string;
}

/** A process that serves every surface, and runs agents unless the worker concurrency is 0. */
@Module({
  controllers: [
    JsonRpcController,
    HttpJsonController,
    AgentCardController,
    KeySetController,
    RestTasksController,
    TasksController,
    TaskHistoryController,
    WebhookDeliveriesController,
    WorkersController,
    AuditLogController,
    HealthController,
    MetricsController,
    UnknownPathsController,
  ],
  providers: [A2aOperations, AgentCards, BlockingSends, CredentialRecheck, Metrics, RestTasks, SseStreams],
})
export class ServerModule {
  static with({ config, storage, agents, token, publicUrl }: ServerOptions): DynamicModule {
    const { auth, oidc, leaseMs, cancelActive, cancelGraceMs, drainMs, cardVersion, capabilities } = config;
    const execution = ExecutionModule.with({
      agents,
      concurrency: config.workerConcurrency,
      runningPerTenant: config.tenantMaxRunning,
      drainMs,
    });
    const cards: CardOptions = {
      publicUrl,
      defaultForm: cardVersion,
      capabilities,
      authentication: auth === 'none' ? 'none' : 'bearer',
    };
    return {
      module: ServerModule,
      imports: [
        StorageModule.with(storage),
        AccessModule.with({ auth, oidc, token }),
        TasksModule.with({
          leaseMs,
          cancel: new CancelPolicy(cancelActive, cancelGraceMs),
          admission: { queuedPerTenant: config.tenantMaxQueued },
          access: { recordedReads: config.auditReads },
          push: new PushPolicy(capabilities.has('pushNotifications'), config.pushAllowPrivate),
          execution,
        }),
        AuditLogModule,
        StreamingModule,
        WebhooksModule.with({ timeoutMs: config.pushTimeoutMs }),
        execution,
      ],
      providers: [{ provide: CardOptions, useValue: cards }],
    };
  }
}
