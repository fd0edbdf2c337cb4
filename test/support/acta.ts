import { setTimeout as delay } from 'node:timers/promises';
import { Clock, type Message, type Principal, type RecordedEvent } from '@app/domain';
import type { TaskState, TaskView } from '@app/domain';
import { EventLog } from '@app/event-log';
import { Agents, ExecutionModule, Worker, WorkerClaims, WorkerRuns } from '@app/execution';
import { Database, EventDecoder, ServerSecret, StorageModule, TaskWakeups } from '@app/storage';
import {
  CancelPolicy,
  CancelTask,
  GetTask,
  ListTasks,
  PushPolicy,
  ResumeTask,
  SendMessage,
  TaskAccess,
  TaskReader,
  TasksModule,
  TaskWriter,
} from '@app/tasks';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { Test, type TestingModule } from '@nestjs/testing';
import type pg from 'pg';
import { type ExecutionFailure, FailureLog } from '../../libs/execution/src/execution-failure.js';
import { EXECUTION_DEFAULTS, ExecutionOptions } from '../../libs/execution/src/execution-options.js';
import { LeaseReaper } from '../../libs/execution/src/queue/lease-reaper.js';
import { RunQueue } from '../../libs/execution/src/queue/run-queue.js';
import type { SendMessageRequest } from '../../libs/tasks/src/commands/send-message.command.js';
import type { ListTasksRequest } from '../../libs/tasks/src/queries/list-tasks.query.js';
import { createTestDatabase, type TestDatabase } from './database/test-database.js';
import { loadReplicaAgents, type ReplicaAgents } from './replica-agents.js';
import { aMessage, REQUEST } from './tasks.js';

const HOUR_MS = 3_600_000;
const SECRET = 'the secret of the integration tests';

export interface ReplicaOptions extends ReplicaAgents {
  /** Maximum number of concurrent runs; 0: the replica only accepts work. */
  readonly concurrency?: number;
  readonly leaseMs?: number;
  readonly cancel?: CancelPolicy;
  readonly queuedPerTenant?: number;
  readonly runningPerTenant?: number;
  readonly now?: () => Date;
  readonly recordedReads?: 'others' | 'all';
  /** Heartbeats wait forever, like those of a process that is paused. */
  readonly heartbeats?: 'blocked';
  /** Period of the reaper; absent: it runs only when `reaper.sweep()` is called. */
  readonly reapMs?: number;
}

/** One process of Acta without HTTP: the modules of production, on a database that other replicas share. */
export class Replica {
  readonly log: EventLog;
  readonly decoder: EventDecoder;
  readonly writer: TaskWriter;
  readonly reader: TaskReader;
  readonly access: TaskAccess;
  readonly queue: RunQueue;
  readonly worker: Worker;
  readonly reaper: LeaseReaper;
  readonly workerClaims: WorkerClaims;
  readonly workerRuns: WorkerRuns;
  private readonly commands: CommandBus;
  private readonly queries: QueryBus;

  private constructor(
    private readonly module: TestingModule,
    readonly database: Database,
    readonly secret: ServerSecret,
    readonly wakeups: TaskWakeups,
    /** What production logs. */
    readonly errors: unknown[],
  ) {
    this.log = module.get(EventLog);
    this.decoder = module.get(EventDecoder);
    this.writer = module.get(TaskWriter);
    this.reader = module.get(TaskReader);
    this.access = module.get(TaskAccess);
    this.queue = module.get(RunQueue);
    this.worker = module.get(Worker);
    this.reaper = module.get(LeaseReaper);
    this.workerClaims = module.get(WorkerClaims);
    this.workerRuns = module.get(WorkerRuns);
    this.commands = module.get(CommandBus);
    this.queries = module.get(QueryBus);
  }

  static async open(url: string, options: ReplicaOptions = {}): Promise<Replica> {
    const database = new Database(url, { maxConnections: 8 });
    const secret = new ServerSecret(SECRET);
    const wakeups = new TaskWakeups(database);
    const errors: unknown[] = [];
    const failures = { report: ({ error }: ExecutionFailure) => void errors.push(error) };
    const agents = await loadReplicaAgents(options);
    const module = await moduleOf({ database, secret, wakeups }, failures, agents, options).compile();
    const replica = new Replica(module, database, secret, wakeups, errors);
    if (options.heartbeats === 'blocked') replica.queue.heartbeat = () => new Promise(() => undefined);
    await database.initializeServerState(secret);
    await wakeups.start();
    await module.init();
    return replica;
  }

  /** Stops in the same order as a process that drains. Throws when a run is still active. */
  async close(graceMs = 0): Promise<void> {
    await this.worker.stop(graceMs);
    await this.module.close();
    await this.wakeups.close();
    await this.database.close();
    if (this.worker.running > 0)
      throw new Error(`${this.worker.running} runs are still active after the worker has stopped`);
  }

  send(principal: Principal, message: Message | string, request: Partial<SendMessageRequest> = {}) {
    const input = typeof message === 'string' ? aMessage(message) : message;
    return this.commands.execute(
      new SendMessage(principal, { message: input, request: REQUEST, acknowledged: false, ...request }),
    );
  }

  /** Sends a message, waits for the outcome and returns the task. */
  async sendAndWait(
    principal: Principal,
    message: Message | string,
    request: Partial<SendMessageRequest> = {},
  ): Promise<TaskView> {
    const { follower } = await this.send(principal, message, request);
    await follower.untilOutcome();
    return (await follower.view())!;
  }

  /** Sends a message without waiting for the outcome, and returns the task id. */
  async submit(
    principal: Principal,
    message: Message | string,
    request: Partial<SendMessageRequest> = {},
  ): Promise<string> {
    const { taskId, follower } = await this.send(principal, message, { acknowledged: true, ...request });
    follower.close();
    return taskId;
  }

  get(principal: Principal, taskId: string, options: GetTask['options'] = {}): Promise<TaskView> {
    return this.queries.execute(new GetTask(principal, taskId, options));
  }

  list(principal: Principal, request: ListTasksRequest = {}) {
    return this.queries.execute(new ListTasks(principal, request));
  }

  cancel(principal: Principal, taskId: string, options: CancelTask['options'] = {}): Promise<TaskView> {
    return this.commands.execute(new CancelTask(principal, taskId, options));
  }

  resume(principal: Principal, taskId: string): Promise<TaskView> {
    return this.commands.execute(new ResumeTask(principal, taskId));
  }

  events(tenantId: string, taskId: string): Promise<RecordedEvent[]> {
    return this.log.read(tenantId, taskId, 0, 100_000);
  }

  /** Waits until the state of a task satisfies the condition, and returns the state. Each change of the task is checked. */
  async until(tenantId: string, taskId: string, satisfies: (state: TaskState) => boolean): Promise<TaskState> {
    for (;;) {
      const changed = new Promise<void>((resolve) => {
        const subscription = this.wakeups.changes(tenantId, taskId).subscribe(() => {
          clearTimeout(timer);
          subscription.unsubscribe();
          resolve();
        });
        const timer = setTimeout(() => {
          subscription.unsubscribe();
          resolve();
        }, 500);
      });
      const head = await this.log.head(tenantId, taskId);
      if (head !== null && satisfies(head.state)) return head.state;
      await changed;
    }
  }
}

/** Returns the module of a replica. Its reaper runs only on request, and only a wake-up ends a waiting claim. */
function moduleOf(
  storage: Parameters<typeof StorageModule.with>[0],
  failures: Pick<FailureLog, 'report'>,
  agents: Agents,
  options: ReplicaOptions,
) {
  const { leaseMs = 30_000, reapMs = HOUR_MS } = options;
  const { concurrency = 8, runningPerTenant = 0, queuedPerTenant = 10_000 } = options;
  const execution = { concurrency, runningPerTenant, drainMs: 0 };
  const waitingClaims = { ...EXECUTION_DEFAULTS.waitingClaims, pollMs: HOUR_MS };
  const tasks = TasksModule.with({
    leaseMs,
    cancel: options.cancel ?? new CancelPolicy('fence', 5_000),
    admission: { queuedPerTenant },
    access: { recordedReads: options.recordedReads ?? 'others' },
    push: new PushPolicy(true, true),
    execution: ExecutionModule.with({ agents, ...execution }),
  });
  return Test.createTestingModule({ imports: [StorageModule.with(storage), tasks] })
    .overrideProvider(ExecutionOptions)
    .useValue({ ...execution, pollMs: 50, sweepMs: reapMs, waitingClaims } satisfies ExecutionOptions)
    .overrideProvider(FailureLog)
    .useValue(failures)
    .overrideProvider(Clock)
    .useValue({ now: options.now ?? (() => new Date()) } satisfies Clock);
}

/** A separate database with the replicas that a test adds. */
export class Acta {
  private readonly replicas: Replica[] = [];

  private constructor(private readonly database: TestDatabase) {}

  static async open(): Promise<Acta> {
    return new Acta(await createTestDatabase());
  }

  /** The URL of the application role. */
  get url(): string {
    return this.database.url;
  }

  /** The name of the application role. */
  get role(): string {
    return this.database.role;
  }

  async replica(options: ReplicaOptions = {}): Promise<Replica> {
    const replica = await Replica.open(this.url, options);
    this.replicas.push(replica);
    return replica;
  }

  /** Runs SQL as the owner of the schema, without Acta. */
  sql<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    return this.database.asOwner<Row>(text, values);
  }

  /** Moves the end of a task's lease into the past. */
  async expireLease(taskId: string): Promise<void> {
    const expired = "clock_timestamp() - interval '1 second'";
    await this.sql(`update run_queue set lease_expires_at = ${expired} where task_id = $1`, [taskId]);
  }

  /** Returns the end of a task's lease in milliseconds since 1970, in database time. */
  async leaseEndOf(taskId: string): Promise<number> {
    const select = 'select lease_expires_at as time from run_queue where task_id = $1';
    const [row] = await this.sql<{ time: Date }>(select, [taskId]);
    return row!.time.getTime();
  }

  /** Closes every replica and drops the database. Throws when a replica reported an error or a connection is still open. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const replica of this.replicas) await replica.close().catch((error: unknown) => failures.push(error));
    failures.push(...this.replicas.flatMap(({ errors }) => errors));
    const left = await this.connectionsLeft();
    await this.database.drop();
    if (left > 0) failures.push(new Error(`${left} connections are still open after the replicas were closed`));
    if (failures.length > 0)
      throw new AggregateError(failures, `the replicas did not close cleanly: ${failures.map(String).join('; ')}`);
  }

  /** Counts open connections. A backend ends shortly after its client, so the count is repeated for up to 2 s. */
  private async connectionsLeft(): Promise<number> {
    let left = 0;
    for (let tries = 0; tries < 40; tries += 1) {
      const [row] = await this.sql<{ left: number }>(
        `select count(*)::integer as left from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`,
      );
      left = row!.left;
      if (left === 0) break;
      await delay(50);
    }
    return left;
  }
}
