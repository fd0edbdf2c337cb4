import { Database, EventDecoder, ServerSecret, TaskWakeups } from '@app/storage';
import { AgentDirectory, RunSlots, TaskReader, TaskWriter } from '@app/tasks';
import { type DynamicModule, Logger, Module, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Agents } from './agents/agents.js';
import type { ExecutionFailure } from './execution-failure.js';
import { LeaseReaper } from './queue/lease-reaper.js';
import { RunQueue, type RunQueueOptions } from './queue/run-queue.js';
import { WaitingClaims } from './worker-api/waiting-claims.js';
import { WorkerClaims } from './worker-api/worker-claims.js';
import { WorkerRuns } from './worker-api/worker-runs.js';
import { Worker, type WorkerOptions } from './worker/worker.js';

export interface ExecutionOptions extends WorkerOptions, RunQueueOptions {
  readonly agents: Agents;
}

/** Executes runs in this process, serves the worker API, and reclaims the expired leases of all processes. */
@Module({})
export class ExecutionModule implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(
    private readonly worker: Worker,
    private readonly reaper: LeaseReaper,
    private readonly claims: WorkerClaims,
  ) {}

  static with(options: ExecutionOptions): DynamicModule {
    const { agents } = options;
    const logger = new Logger('execution');
    const onError = (failure: ExecutionFailure) => logger.error(failure);
    return {
      module: ExecutionModule,
      global: true,
      providers: [
        { provide: Agents, useValue: agents },
        { provide: AgentDirectory, useExisting: Agents },
        {
          provide: RunQueue,
          inject: [Database, EventDecoder],
          useFactory: (database: Database, decoder: EventDecoder) => new RunQueue(database, decoder, options),
        },
        {
          provide: Worker,
          inject: [Database, TaskWriter, TaskReader, ServerSecret, RunQueue],
          useFactory: (
            database: Database,
            writer: TaskWriter,
            reader: TaskReader,
            secret: ServerSecret,
            queue: RunQueue,
          ) => new Worker({ database, writer, reader, secret, onError }, queue, agents, options),
        },
        { provide: RunSlots, useExisting: Worker },
        {
          provide: LeaseReaper,
          inject: [Database, TaskWriter, RunQueue],
          useFactory: (database: Database, writer: TaskWriter, queue: RunQueue) =>
            new LeaseReaper(database, writer, queue, agents, onError),
        },
        {
          provide: WaitingClaims,
          inject: [TaskWakeups],
          useFactory: (wakeups: TaskWakeups) => new WaitingClaims(wakeups.queuedAgents),
        },
        WorkerClaims,
        WorkerRuns,
      ],
      exports: [AgentDirectory, Agents, RunSlots, Worker, WorkerClaims, WorkerRuns],
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
  }
}
