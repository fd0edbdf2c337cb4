import { EventLog } from '@app/event-log';
import { Database, EventDecoder, ServerSecret, TaskWakeups } from '@app/storage';
import { type DynamicModule, Module } from '@nestjs/common';
import { CqrsModule } from '@nestjs/cqrs';
import { Admission, type AdmissionLimits } from './commands/admission.js';
import { AccessAudit } from './access/access-audit.js';
import { CancelPolicy, CancelTaskHandler } from './commands/cancel-task.command.js';
import { GetTaskHandler } from './queries/get-task.query.js';
import { ListTasksHandler } from './queries/list-tasks.query.js';
import { PageTokens } from './queries/page-token.js';
import { DeletePushConfigHandler, SetPushConfigHandler } from './push-configs/push-config.commands.js';
import { GetPushConfigHandler, ListPushConfigsHandler } from './push-configs/push-config.queries.js';
import { PushConfigs } from './push-configs/push-configs.js';
import { PushPolicy } from './push-configs/push-policy.js';
import { HistoryReader } from './history/history-reader.js';
import { ReadPublishedArtifactsHandler } from './history/read-published-artifacts.query.js';
import { ReadPublishedPartsHandler } from './history/read-published-parts.query.js';
import { ReadEventsHandler } from './history/read-events.query.js';
import { ReadMessagesHandler } from './history/read-messages.query.js';
import { ReadRunsHandler } from './history/read-runs.query.js';
import { ResumeTaskHandler } from './commands/resume-task.command.js';
import { SendMessageHandler } from './commands/send-message.command.js';
import { TaskReader } from './queries/task-reader.js';
import { TaskWriter } from './commands/task-writer.js';

export interface TasksOptions {
  readonly leaseMs: number;
  readonly cancel: CancelPolicy;
  readonly admission: AdmissionLimits;
  /** Absent in a process that serves no requests. */
  readonly push?: PushPolicy;
}

/** Registers the command and query handlers. Needs the `AgentDirectory` and `RunSlots` of `libs/execution`. */
@Module({})
export class TasksModule {
  static with(options: TasksOptions): DynamicModule {
    const services = [
      {
        provide: TaskWriter,
        inject: [EventLog, TaskWakeups],
        useFactory: (log: EventLog, wakeups: TaskWakeups) => new TaskWriter(log, wakeups, options.leaseMs),
      },
      {
        provide: TaskReader,
        inject: [Database, EventDecoder, EventLog],
        useFactory: (database: Database, decoder: EventDecoder, log: EventLog) =>
          new TaskReader(database, decoder, log),
      },
    ];
    return {
      module: TasksModule,
      global: true,
      imports: [CqrsModule.forRoot()],
      providers: [
        // Not exported, because only this library may read and append events directly.
        {
          provide: EventLog,
          inject: [Database, ServerSecret, EventDecoder],
          useFactory: (database: Database, secret: ServerSecret, decoder: EventDecoder) =>
            new EventLog(database, secret, decoder),
        },
        ...services,
        { provide: PageTokens, inject: [ServerSecret], useFactory: (secret: ServerSecret) => new PageTokens(secret) },
        { provide: CancelPolicy, useValue: options.cancel },
        {
          provide: Admission,
          inject: [Database],
          useFactory: (database: Database) => new Admission(database, options.admission),
        },
        { provide: PushPolicy, useValue: options.push ?? new PushPolicy(false, false) },
        AccessAudit,
        PushConfigs,
        SendMessageHandler,
        CancelTaskHandler,
        GetTaskHandler,
        ListTasksHandler,
        ResumeTaskHandler,
        SetPushConfigHandler,
        DeletePushConfigHandler,
        GetPushConfigHandler,
        ListPushConfigsHandler,
        HistoryReader,
        ReadEventsHandler,
        ReadMessagesHandler,
        ReadPublishedArtifactsHandler,
        ReadPublishedPartsHandler,
        ReadRunsHandler,
      ],
      exports: [...services, PushPolicy, AccessAudit, CqrsModule],
    };
  }
}
