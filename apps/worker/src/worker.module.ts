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
    const { leaseMs, cancelActive, cancelGraceMs, drainMs } = config;
    return {
      module: WorkerModule,
      imports: [
        StorageModule.with(storage),
        TasksModule.with({
          leaseMs,
          cancel: new CancelPolicy(cancelActive, cancelGraceMs),
          admission: { queuedPerTenant: config.tenantMaxQueued },
          access: { recordedReads: config.auditReads },
          execution: ExecutionModule.with({
            agents,
            concurrency: config.workerConcurrency,
            runningPerTenant: config.tenantMaxRunning,
            drainMs,
          }),
        }),
      ],
    };
  }
}
