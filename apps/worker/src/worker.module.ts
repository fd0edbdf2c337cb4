import { randomUUID } from 'node:crypto';
import { AccessModule } from '@app/access';
import type { Config } from '@app/config';
import { type Agents, ExecutionModule } from '@app/execution';
import { type Storage, StorageModule } from '@app/storage';
import { CancelPolicy, TasksModule } from '@app/tasks';
import { type DynamicModule, Module } from '@nestjs/common';

export interface WorkerModuleOptions {
  readonly config: Config;
  readonly storage: Storage;
  readonly agents: Agents;
}

/** The execution of the server as a process of its own: nothing listens, so nothing here can be called. */
@Module({})
export class WorkerModule {
  static with({ config, storage, agents }: WorkerModuleOptions): DynamicModule {
    const { leaseMs, cancelActive, cancelGraceMs, workerConcurrency } = config;
    return {
      module: WorkerModule,
      imports: [
        StorageModule.with(storage),
        // Here for the audit trail alone; a token that nobody knows keeps the token file out of it.
        AccessModule.with({ auth: 'required', oidc: null, token: randomUUID() }),
        TasksModule.with({
          leaseMs,
          cancel: new CancelPolicy(cancelActive, cancelGraceMs),
          admission: { queuedPerTenant: config.tenantMaxQueued },
        }),
        ExecutionModule.with({
          agents,
          leaseMs,
          concurrency: workerConcurrency,
          runningPerTenant: config.tenantMaxRunning,
          drainMs: config.drainMs,
        }),
      ],
    };
  }
}
