import type { TaskState } from '@app/domain';
import {
  Database,
  EventDecoder,
  type Executor,
  type NamedStatement,
  type TaskHead,
  type WrappedKeyColumns,
} from '@app/storage';
import { LeaseOptions } from '@app/tasks';
import { Injectable } from '@nestjs/common';
import { ExecutionOptions } from '../execution-options.js';
import {
  ANY_WAITING,
  EXPIRED,
  HEADS,
  HEARTBEAT,
  LOCK_TENANT,
  LOCK_TENANTS,
  OVERDUE_CANCELS,
  WAITING,
  WAITING_FOR_WORKER,
  WAITING_WITHIN_LIMIT,
} from './run-queue.statements.js';

/** A task whose queue row the current transaction has locked. */
export interface LockedTask {
  readonly tenantId: string;
  readonly taskId: string;
  readonly head: TaskHead;
}

interface HeadRow extends WrappedKeyColumns {
  tenant_id: string;
  task_id: string;
  state: TaskState;
  head_hash: Buffer;
}

/** The first key of the advisory locks on tenants. The second key is a hash of the tenant. */
const TENANT_LOCK = 0x61637461;

/** A run whose lease was renewed. */
export interface RenewedLease {
  readonly runId: string;
  readonly cancelRequested: boolean;
}

/** The waiting tasks, and the leases of the active runs. Leases expire by database time only. */
@Injectable()
export class RunQueue {
  readonly leaseMs: number;
  private readonly runningPerTenant: number;
  /** The tenant that had the last turn. */
  private lastTenant = '';

  constructor(
    private readonly database: Database,
    private readonly decoder: EventDecoder,
    { leaseMs }: LeaseOptions,
    { runningPerTenant }: ExecutionOptions,
  ) {
    this.leaseMs = leaseMs;
    this.runningPerTenant = runningPerTenant;
  }

  /** Whether runs are counted per tenant. Only a claim counts them, so no run may start without one. */
  get limitsTenants(): boolean {
    return this.runningPerTenant > 0;
  }

  /** Returns whether a task waits for one of the agents. If none does, this costs less than a claim. */
  async hasWaiting(agents: readonly string[]): Promise<boolean> {
    return (await this.database.run(ANY_WAITING, [agents])).length > 0;
  }

  /** Locks up to `limit` waiting tasks of the agents. Tenants take turns. */
  async lockWaiting(agents: readonly string[], limit: number, executor: Executor): Promise<LockedTask[]> {
    const tasks = await (this.limitsTenants
      ? this.lockWaitingWithinLimit(agents, limit, executor)
      : this.lock(WAITING, [agents, limit, this.lastTenant], executor));
    this.lastTenant = tasks.at(-1)?.tenantId ?? this.lastTenant;
    return tasks;
  }

  /** Locks up to `limit` waiting tasks for a remote worker, the oldest first. */
  async lockWaitingForWorker(
    worker: { readonly tenantId: string; readonly agents: readonly string[]; readonly rings: readonly string[] },
    limit: number,
    executor: Executor,
  ): Promise<LockedTask[]> {
    const { tenantId, agents, rings } = worker;
    if (!this.limitsTenants) return this.lock(WAITING_FOR_WORKER, [tenantId, agents, rings, limit], executor);
    await this.database.run(LOCK_TENANT, [tenantId, TENANT_LOCK], executor);
    return this.lock(WAITING_WITHIN_LIMIT, [agents, limit, '', [tenantId], this.runningPerTenant, rings], executor);
  }

  /** Locks up to `limit` tasks whose lease has expired. */
  lockExpired(limit: number, executor: Executor): Promise<LockedTask[]> {
    return this.lock(EXPIRED, [limit], executor);
  }

  /** Locks up to `limit` tasks whose cancel deadline has passed. */
  lockOverdueCancels(limit: number, executor: Executor): Promise<LockedTask[]> {
    return this.lock(OVERDUE_CANCELS, [limit], executor);
  }

  /** Renews the leases of runs in one statement. A run that is not returned no longer holds its task. */
  async heartbeat(
    runs: readonly { readonly tenantId: string; readonly taskId: string; readonly runId: string }[],
  ): Promise<RenewedLease[]> {
    const rows = await this.database.run<{ run_id: string; cancel_requested: boolean }>(HEARTBEAT, [
      runs.map((run) => run.tenantId),
      runs.map((run) => run.taskId),
      runs.map((run) => run.runId),
      this.leaseMs,
    ]);
    return rows.map((row) => ({ runId: row.run_id, cancelRequested: row.cancel_requested }));
  }

  private async lockWaitingWithinLimit(
    agents: readonly string[],
    limit: number,
    executor: Executor,
  ): Promise<LockedTask[]> {
    const { lastTenant, runningPerTenant } = this;
    const values = [agents, limit, lastTenant, runningPerTenant, TENANT_LOCK];
    const rows = await this.database.run<{ tenant_id: string }>(LOCK_TENANTS, values, executor);
    if (rows.length === 0) return [];
    const tenants = rows.map((row) => row.tenant_id);
    return this.lock(WAITING_WITHIN_LIMIT, [agents, limit, lastTenant, tenants, runningPerTenant, null], executor);
  }

  private async lock(statement: NamedStatement, values: unknown[], executor: Executor): Promise<LockedTask[]> {
    const { database } = this;
    const rows = await database.run<{ tenant_id: string; task_id: string }>(statement, values, executor);
    if (rows.length === 0) return [];
    const keys = [rows.map((row) => row.tenant_id), rows.map((row) => row.task_id)];
    const heads = await database.run<HeadRow>(HEADS, keys, executor);
    return heads.map((row) => ({
      tenantId: row.tenant_id,
      taskId: row.task_id,
      head: this.decoder.decodeHead(row.tenant_id, row.task_id, row),
    }));
  }
}
