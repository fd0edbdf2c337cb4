import { Clock, isUuid, newId, type Principal, type TaskState, taskNotFound } from '@app/domain';
import type { Receipt } from '@app/event-log';
import { Database, EventDecoder, type TaskHead, type WrappedKeyColumns } from '@app/storage';
import { Injectable } from '@nestjs/common';
import { FIND_ACCESSIBLE, FIND_AND_RECORD } from './task-access.statements.js';

/** The id of a task. With `agent`, a task of a different agent counts as missing. */
export interface ScopedTask {
  readonly taskId: string;
  readonly agent?: string;
}

/** A task that the caller can access, as of the access. */
export interface AccessedTask extends TaskHead {
  readonly taskId: string;
  /** The receipt of the caller's message, if there is one; in whichever task it is. */
  readonly receipt: Receipt | null;
}

/** Whether an operation is a read. A command of the owner is in the event log, so it is never in the audit log, too. */
const OPERATIONS = {
  GetTask: 'read',
  ListTasks: 'read',
  SubscribeToTask: 'read',
  ReadEvents: 'read',
  ReadMessages: 'read',
  ReadPublishedArtifacts: 'read',
  ReadPublishedParts: 'read',
  ReadRuns: 'read',
  ListWebhookDeliveries: 'read',
  GetPushConfig: 'read',
  ListPushConfigs: 'read',
  SendMessage: 'command',
  CancelTask: 'command',
  ResumeTask: 'command',
  SetPushConfig: 'command',
  DeletePushConfig: 'command',
} as const satisfies Record<string, 'read' | 'command'>;

/** The command or query that accesses tasks. */
export type AccessOperation = keyof typeof OPERATIONS;

/** What the audit log records, which a module provides from the configuration. */
export abstract class AccessOptions {
  /** `others`: access to tasks of other users. `all`: also the reads of own tasks. */
  abstract readonly recordedReads: 'others' | 'all';
}

/** The values that `RECORD_ACCESS` needs beside the tasks, or null: no access is recorded. */
export interface AccessRecord {
  readonly entryId: string;
  readonly operation: AccessOperation;
  readonly role: Principal['role'];
  readonly recordedAt: string;
  readonly epoch: number;
  /** Whether tasks of the caller itself are recorded, too. */
  readonly ownTasks: boolean;
}

interface Access {
  readonly taskIds: readonly string[];
  /** A task of a different agent counts as missing. */
  readonly agent?: string;
  /** Include executions that ended with a direct message response. Otherwise, they count as missing. */
  readonly replied?: boolean;
  /** A message of the caller whose receipt is read, too. */
  readonly messageId?: string;
}

type FoundRow = {
  readonly task_id: string;
  readonly state: TaskState;
  readonly head_hash: Buffer;
  readonly receipt_task: string | null;
  readonly receipt_fingerprint: Buffer | null;
} & WrappedKeyColumns;

/**
 * The only way from a caller to a task. The statement that finds a task checks whether the caller can access it, so nothing of a
 * task of others is read, and it takes as long as for a missing task. The same statement records the access in the audit log.
 */
@Injectable()
export class TaskAccess {
  constructor(
    private readonly database: Database,
    private readonly decoder: EventDecoder,
    private readonly options: AccessOptions,
    private readonly clock: Clock,
  ) {}

  /** Returns a task that the caller can access. Errors: TaskNotFound. */
  async require(
    principal: Principal,
    operation: AccessOperation,
    { taskId, agent }: ScopedTask,
    options: Pick<Access, 'replied'> = {},
  ): Promise<AccessedTask> {
    const [task] = await this.find(principal, operation, { taskIds: [taskId], agent, ...options });
    if (task === undefined) throw taskNotFound(taskId);
    return task;
  }

  /**
   * Returns those of several tasks that the caller can access, in no particular order. A text that is not a UUID in canonical form
   * is the id of no task.
   */
  async find(
    principal: Principal,
    operation: AccessOperation,
    { taskIds, agent, replied = false, messageId }: Access,
  ): Promise<AccessedTask[]> {
    const { tenantId, subject } = principal;
    const ids = taskIds.filter(isUuid);
    if (ids.length === 0) return [];
    const message = messageId === undefined ? [null, null] : [subject, messageId];
    const parameters = [...callerValues(principal), ids, agent ?? null, replied, ...message];
    const record = this.recordOf(principal, operation);
    const rows =
      record === null
        ? await this.database.run<FoundRow>(FIND_ACCESSIBLE, parameters)
        : await this.database.run<FoundRow>(FIND_AND_RECORD, [...parameters, ...recordValues(record)]);
    return rows.map((row) => this.taskOf(tenantId, row));
  }

  /** Returns what is recorded about an access of the caller. Null: nothing, because it can only access its own tasks. */
  recordOf({ role }: Principal, operation: AccessOperation): AccessRecord | null {
    const ownTasks = this.options.recordedReads === 'all' && OPERATIONS[operation] === 'read';
    if (!seesEveryTask(role) && !ownTasks) return null;
    const { epoch } = this.database;
    return { entryId: newId(), operation, role, recordedAt: this.clock.now().toISOString(), epoch, ownTasks };
  }

  private taskOf(tenantId: string, row: FoundRow): AccessedTask {
    const { task_id: taskId, receipt_task: receiptTask, receipt_fingerprint: fingerprint } = row;
    const receipt = receiptTask === null || fingerprint === null ? null : { taskId: receiptTask, fingerprint };
    return { taskId, receipt, ...this.decoder.decodeHead(tenantId, taskId, row) };
  }
}

const seesEveryTask = (role: Principal['role']): boolean => role === 'admin' || role === 'operator';

/** Returns the caller's parameters of `can_access`. Roles other than members, admins and operators are in no ring. */
export function callerValues({ tenantId, subject, role, rings }: Principal): [string, boolean, string, string[]] {
  return [tenantId, seesEveryTask(role), subject, role === 'member' ? [...rings] : []];
}

/** The parameters of `FIND_AND_RECORD` from $10 on. */
const recordValues = ({ entryId, operation, role, recordedAt, epoch, ownTasks }: AccessRecord) => [
  entryId,
  operation,
  role,
  recordedAt,
  epoch,
  ownTasks,
];
