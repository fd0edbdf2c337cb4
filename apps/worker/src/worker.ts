import { type Config, ConfigError } from '@app/config';
import { Agents, Worker } from '@app/execution';
import { openStorage } from '@app/storage';
import { ConsoleLogger, Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { WorkerModule } from './worker.module.js';

/** A process that takes work from the queue. */
export interface RunningWorker {
  /** As it stands in the record of every run that it takes. */
  readonly id: string;
  readonly agents: readonly string[];
  readonly concurrency: number;
  /** Takes no more work, gives live runs time to end, and hands back what is left. */
  close(): Promise<void>;
}

/** Opens the storage, loads the agents, and takes work. What keeps it from starting is thrown as one sentence. */
export async function startWorker(config: Config): Promise<RunningWorker> {
  const concurrency = config.workerConcurrency;
  if (concurrency === 0) {
    throw new ConfigError(
      'ACTA_WORKER_CONCURRENCY=0 leaves a worker nothing to do: remove it, or set how many runs it may have at a time.',
    );
  }
  const agents = await Agents.load(config.agents, config);
  const { databaseUrl, dataDir, secretKey } = config;
  const onError = ({ message }: Error) => new Logger('storage').warn({ message });
  const storage = await openStorage({ databaseUrl, dataDir, secretKey, onError });
  try {
    const app = await NestFactory.createApplicationContext(WorkerModule.with({ config, storage, agents }), {
      logger: new ConsoleLogger({
        json: true,
        logLevels: config.logLevel === 'silent' ? [] : ['fatal', 'error', 'warn'],
      }),
      abortOnError: false,
    });
    const close = async () => {
      await app.close();
      await storage.close();
    };
    return { id: app.get(Worker).id, agents: agents.all().map(({ name }) => name), concurrency, close };
  } catch (error) {
    await storage.close();
    throw error;
  }
}
