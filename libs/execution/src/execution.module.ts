import { AgentDirectory, RunSlots } from '@app/tasks';
import { type DynamicModule, Module, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Agents } from './agents/agents.js';
import { FailureLog } from './execution-failure.js';
import { EXECUTION_DEFAULTS, ExecutionOptions } from './execution-options.js';
import { LeaseReaper } from './queue/lease-reaper.js';
import { RunQueue } from './queue/run-queue.js';
import { WaitingClaims } from './worker-api/waiting-claims.js';
import { WorkerClaims } from './worker-api/worker-claims.js';
import { WorkerRuns } from './worker-api/worker-runs.js';
import { RunServices } from './worker/run.js';
import { Worker } from './worker/worker.js';

type Settings = Pick<ExecutionOptions, 'concurrency' | 'runningPerTenant' | 'drainMs'> & {
  readonly agents: Agents;
};

/** Executes runs in this process, serves the worker API, and reclaims the expired leases of all processes. */
@Module({
  providers: [
    FailureLog,
    RunQueue,
    RunServices,
    Worker,
    LeaseReaper,
    WaitingClaims,
    WorkerClaims,
    WorkerRuns,
    { provide: AgentDirectory, useExisting: Agents },
    { provide: RunSlots, useExisting: Worker },
  ],
  exports: [AgentDirectory, RunSlots, Worker, WorkerClaims, WorkerRuns],
})
export class ExecutionModule implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(
    private readonly worker: Worker,
    private readonly reaper: LeaseReaper,
    private readonly claims: WorkerClaims,
    private readonly agents: Agents,
  ) {}

  static with({ agents, ...settings }: Settings): DynamicModule {
    const options: ExecutionOptions = { ...EXECUTION_DEFAULTS, ...settings };
    return {
      module: ExecutionModule,
      providers: [
        { provide: Agents, useValue: agents },
        { provide: ExecutionOptions, useValue: options },
      ],
    };
  }

  onApplicationBootstrap(): void {
    this.worker.start();
    this.reaper.start();
  }

  async onModuleDestroy(): Promise<void> {
    this.claims.stop();
    await this.reaper.stop();
    await this.worker.stop();
    await this.agents.close();
  }
}
