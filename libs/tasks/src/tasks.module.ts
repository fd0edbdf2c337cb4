import { Clock } from '@app/domain';
import { EventLog } from '@app/event-log';
import { type DynamicModule, Module } from '@nestjs/common';
import { CqrsModule } from '@nestjs/cqrs';
import { AccessOptions, TaskAccess } from './access/task-access.js';
import { Admission, AdmissionLimits } from './commands/admission.js';
import { CancelPolicy, CancelTaskHandler } from './commands/cancel-task.command.js';
import { ResumeTaskHandler } from './commands/resume-task.command.js';
import { SendMessageHandler } from './commands/send-message.command.js';
import { LeaseOptions, TaskWriter } from './commands/task-writer.js';
import { HistoryReader } from './history/history-reader.js';
import { ReadPublishedArtifactsHandler } from './history/read-published-artifacts.query.js';
import { ReadPublishedPartsHandler } from './history/read-published-parts.query.js';
import { ReadEventsHandler } from './history/read-events.query.js';
import { ReadMessagesHandler } from './history/read-messages.query.js';
import { ReadRunsHandler } from './history/read-runs.query.js';
import { DeletePushConfigHandler, SetPushConfigHandler } from './push-configs/push-config.commands.js';
import { GetPushConfigHandler, ListPushConfigsHandler } from './push-configs/push-config.queries.js';
import { PushConfigs } from './push-configs/push-configs.js';
import { PushPolicy } from './push-configs/push-policy.js';
import { GetTaskHandler } from './queries/get-task.query.js';
import { ListTasksHandler } from './queries/list-tasks.query.js';
import { PageTokens } from './queries/page-token.js';
import { TaskReader } from './queries/task-reader.js';

interface TasksOptions {
  readonly leaseMs: number;
  readonly cancel: CancelPolicy;
  readonly admission: AdmissionLimits;
  readonly access: AccessOptions;
  /** Absent in a process that serves no requests. */
  readonly push?: PushPolicy;
  /** Exports the `AgentDirectory` and the `RunSlots` of this process. */
  readonly execution: DynamicModule;
}

const HANDLERS = [
  SendMessageHandler,
  CancelTaskHandler,
  GetTaskHandler,
  ListTasksHandler,
  ResumeTaskHandler,
  SetPushConfigHandler,
  DeletePushConfigHandler,
  GetPushConfigHandler,
  ListPushConfigsHandler,
  ReadEventsHandler,
  ReadMessagesHandler,
  ReadPublishedArtifactsHandler,
  ReadPublishedPartsHandler,
  ReadRunsHandler,
];

/**
 * Registers the command and query handlers. It is global, because it and the execution need each other. `EventLog` is not
 * exported, because only this library may read and append events directly.
 */
@Module({
  imports: [CqrsModule],
  providers: [
    Clock,
    EventLog,
    TaskWriter,
    TaskReader,
    PageTokens,
    Admission,
    TaskAccess,
    PushConfigs,
    HistoryReader,
    ...HANDLERS,
  ],
  exports: [LeaseOptions, TaskWriter, TaskReader, PushPolicy, TaskAccess, CqrsModule],
})
export class TasksModule {
  static with({ leaseMs, cancel, admission, access, push, execution }: TasksOptions): DynamicModule {
    return {
      module: TasksModule,
      global: true,
      imports: [execution],
      providers: [
        { provide: LeaseOptions, useValue: { leaseMs } },
        { provide: CancelPolicy, useValue: cancel },
        { provide: AdmissionLimits, useValue: admission },
        { provide: AccessOptions, useValue: access },
        { provide: PushPolicy, useValue: push ?? new PushPolicy(false, false) },
      ],
    };
  }
}
