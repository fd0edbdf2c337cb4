import { Database, EventDecoder, ServerSecret } from '@app/storage';
import { AgentDirectory, RunSlots, TaskReader, TaskWriter } from '@app/tasks';
import { type DynamicModule, Logger, Module, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Agents } from './agents/agents.js';
import { LeaseReaper } from './queue/lease-reaper.js';
import { RemoteRuns } from './worker-api/worker-runs.js';
import { RunQueue } from './queue/run-queue.js';
import { Worker, type WorkerOptions } from './worker/worker.js';

export interface ExecutionOptions extends WorkerOptions {
  readonly agents: Agents;
  /** Runs of one tenant at a time; 0: no limit. */
  readonly runningPerTenant: number;
}

/** Runs agents in this process, as far as its options let it, and keeps the queue of all in order. */
@Module({})
export class ExecutionModule implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(
    private readonly worker: Worker,
    private readonly reaper: LeaseReaper,
    private readonly remote: RemoteRuns,
  ) {}

  static with(options: ExecutionOptions): DynamicModule {
    const { agents } = options;
    const logger = new Logger('execution');
    const onError = (error: unknown, run?: { taskId: string }) =>
      logger.error({ message: error instanceof Error ? error.message : String(error), taskId: run?.taskId });
    return {
      module: ExecutionModule,
      global: true,
      providers: [
        { provide: Agents, useValue: agents },
        { provide: AgentDirectory, useValue: agents },
        {
          provide: RunQueue,
          inject: [Database, EventDecoder],
          useFactory: (database: Database, decoder: EventDecoder) =>
            new RunQueue(database, decoder, options.runningPerTenant),
        },
        {
          provide: Worker,
          inject: [Database, TaskWriter, TaskReader, ServerSecret, RunQueue],
          useFactory: (
            database: Database,
            streams: TaskWriter,
            reader: TaskReader,
            secret: ServerSecret,
            queue: RunQueue,
          ) => new Worker({ database, streams, reader, secret, onError }, queue, agents, options),
        },
        { provide: RunSlots, useExisting: Worker },
        {
          provide: RemoteRuns,
          inject: [Database, EventDecoder, TaskWriter, TaskReader, RunQueue, ServerSecret],
          useFactory: (
            database: Database,
            decoder: EventDecoder,
            streams: TaskWriter,
            reader: TaskReader,
            queue: RunQueue,
            secret: ServerSecret,
          ) => new RemoteRuns(database, decoder, streams, reader, queue, agents, secret, options.leaseMs),
        },
        {
          provide: LeaseReaper,
          inject: [Database, TaskWriter, RunQueue],
          useFactory: (database: Database, streams: TaskWriter, queue: RunQueue) =>
            new LeaseReaper(database, streams, queue, (agent) => agents.retryOf(agent), onError),
        },
      ],
      exports: [AgentDirectory, Agents, RemoteRuns, RunSlots, Worker],
    };
  }

  onApplicationBootstrap(): void {
    this.worker.start();
    this.reaper.start();
  }

  async onModuleDestroy(): Promise<void> {
    this.remote.stop();
    await this.reaper.stop();
    await this.worker.stop();
  }
}
