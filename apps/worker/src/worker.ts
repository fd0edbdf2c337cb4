import { type Config, ConfigError } from '@app/config';
import { Agents, Worker } from '@app/execution';
import { JsonLogger } from '@app/logging';
import { openStorage } from '@app/storage';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { WorkerModule } from './worker.module.js';

/** A process that runs agents for the tasks in the queue. */
interface RunningWorker {
  /** The worker id in the events of the runs that it claims. */
  readonly id: string;
  readonly agents: readonly string[];
  readonly concurrency: number;
  /** Stops claiming runs, waits for active runs to end, and releases those that do not end in time. */
  close(): Promise<void>;
}

/**
 * Loads the agents, opens the storage and claims runs.
 *
 * @throws Error with one sentence for the person who starts the worker
 */
export async function startWorker(config: Config): Promise<RunningWorker> {
  const logger = new JsonLogger(config.logLevel);
  Logger.overrideLogger(logger);
  const concurrency = config.workerConcurrency;
  if (concurrency === 0) {
    throw new ConfigError(
      'ACTA_WORKER_CONCURRENCY=0 allows no runs, so a worker has no work: remove it, or set the number of concurrent runs.',
    );
  }
  const agents = await Agents.load(config.agents, config);
  const { databaseUrl, ownerDatabaseUrl, dataDir, secretKey } = config;
  const onError = (error: Error) => logger.warn({ message: 'database error', error }, 'storage');
  const storage = await openStorage({ databaseUrl, ownerDatabaseUrl, dataDir, secretKey, onError });
  try {
    const module = WorkerModule.with({ config, storage, agents });
    const app = await NestFactory.createApplicationContext(module, { logger, abortOnError: false });
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
