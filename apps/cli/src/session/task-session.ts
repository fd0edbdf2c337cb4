import type { Config } from '@app/config';
import { Agents } from '@app/execution';
import { type Storage, StorageModule, type TaskWakeups } from '@app/storage';
import { AgentDirectory, CancelPolicy, NoRunSlots, RunSlots, TaskReader, TasksModule } from '@app/tasks';
import { type DynamicModule, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { withStorage } from './database-session.js';

/** The commands and queries of the server, executed in this process on the same database. */
export interface TaskSession {
  readonly commands: CommandBus;
  readonly queries: QueryBus;
  readonly reader: TaskReader;
  readonly wakeups: TaskWakeups;
  readonly signal: AbortSignal;
}

/** Runs work with the command and query buses. Agents are loaded only on request, so that a broken module affects only sends. */
export async function withTasks<T>(
  work: (session: TaskSession) => Promise<T>,
  { agents: loading }: { readonly agents: 'configured' | 'none' } = { agents: 'none' },
): Promise<T> {
  return withStorage(async (storage, { config, signal }) => {
    const agents = loading === 'none' ? new NoAgents() : await Agents.load(config.agents, config);
    const app = await NestFactory.createApplicationContext(CommandLineModule.with({ config, storage, agents }), {
      logger: false,
      abortOnError: false,
    });
    const { wakeups } = storage;
    return work({
      commands: app.get(CommandBus),
      queries: app.get(QueryBus),
      reader: app.get(TaskReader),
      wakeups,
      signal,
    }).finally(async () => {
      await app.close();
      await agents.close();
    });
  });
}

/** Composes the command line like a server without a worker: it accepts tasks and runs none. */
@Module({})
class CommandLineModule {
  static with(options: { config: Config; storage: Storage; agents: AgentDirectory }): DynamicModule {
    const { config, storage, agents } = options;
    const { leaseMs, cancelActive, cancelGraceMs } = config;
    return {
      module: CommandLineModule,
      imports: [
        StorageModule.with(storage),
        TasksModule.with({
          leaseMs,
          cancel: new CancelPolicy(cancelActive, cancelGraceMs),
          admission: { queuedPerTenant: config.tenantMaxQueued },
          access: { recordedReads: config.auditReads },
          execution: NoExecutionModule.with(agents),
        }),
      ],
    };
  }
}

/** Provides the agents, but no slots for their runs. */
@Module({ providers: [{ provide: RunSlots, useClass: NoRunSlots }], exports: [AgentDirectory, RunSlots] })
class NoExecutionModule {
  static with(agents: AgentDirectory): DynamicModule {
    return { module: NoExecutionModule, providers: [{ provide: AgentDirectory, useValue: agents }] };
  }
}

class NoAgents extends AgentDirectory {
  override get defaultAgent(): never {
    throw new Error('no agents are loaded');
  }

  override find(): undefined {
    return undefined;
  }

  override all(): [] {
    return [];
  }

  async close(): Promise<void> {}
}
