import { randomUUID } from 'node:crypto';
import { AccessModule } from '@app/access';
import type { Config } from '@app/config';
import { type Agents, ExecutionModule } from '@app/execution';
import { type Storage, StorageModule } from '@app/storage';
import { CancelPolicy, TasksModule } from '@app/tasks';
import { type DynamicModule, Module } from '@nestjs/common';

interface WorkerModuleOptions {
  readonly config: Config;
  readonly storage: Storage;
  readonly agents: Agents;
}

/** The execution of runs as a separate process. It does not listen for requests. */
@Module({})
export class WorkerModule {
  static with({ config, storage, agents }: WorkerModuleOptions): DynamicModule {
    const { leaseMs, cancelActive, cancelGraceMs, workerConcurrency } = config;
    return {
      module: WorkerModule,
      imports: [
        StorageModule.with(storage),
        // Only the audit log is used. A random token avoids reading the token file.
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
