import { setTimeout as delay } from 'node:timers/promises';
import { AuditLog } from '@app/access';
import type { Message, Principal, RecordedEvent, RetryPolicy, TaskState, TaskView } from '@app/domain';
import { Agents, Worker, WorkerClaims, WorkerRuns } from '@app/execution';
import { EventLog } from '@app/event-log';
import { Database, EventDecoder, ServerSecret, TaskWakeups } from '@app/storage';
import {
  AccessAudit,
  CancelPolicy,
  CancelTask,
  GetTask,
  ListTasks,
  PushPolicy,
  ResumeTask,
  SendMessage,
  TaskReader,
  TaskWriter,
} from '@app/tasks';
import type pg from 'pg';
import type { Agent } from '../../libs/execution/src/agents/agent.contract.js';
import type { ExecutionFailure } from '../../libs/execution/src/execution-failure.js';
import { LeaseReaper } from '../../libs/execution/src/queue/lease-reaper.js';
import { RunQueue } from '../../libs/execution/src/queue/run-queue.js';
import { WaitingClaims } from '../../libs/execution/src/worker-api/waiting-claims.js';
import { Admission } from '../../libs/tasks/src/commands/admission.js';
import { CancelTaskHandler } from '../../libs/tasks/src/commands/cancel-task.command.js';
import { ResumeTaskHandler } from '../../libs/tasks/src/commands/resume-task.command.js';
import { SendMessageHandler, type SendMessageRequest } from '../../libs/tasks/src/commands/send-message.command.js';
import { GetTaskHandler } from '../../libs/tasks/src/queries/get-task.query.js';
import { ListTasksHandler, type ListTasksRequest } from '../../libs/tasks/src/queries/list-tasks.query.js';
import { PageTokens } from '../../libs/tasks/src/queries/page-token.js';
import { createTestDatabase, type TestDatabase } from './database/test-database.js';
import { aMessage } from './tasks.js';

const SECRET = 'the secret of the integration tests';

export interface ReplicaOptions {
  readonly agents?: readonly Agent[];
  /** Maximum number of concurrent runs; 0: the replica only accepts work. */
  readonly concurrency?: number;
  readonly leaseMs?: number;
  readonly retry?: RetryPolicy;
  readonly cancel?: CancelPolicy;
  readonly queuedPerTenant?: number;
  readonly runningPerTenant?: number;
  readonly now?: () => Date;
  /** Heartbeats wait forever, like those of a process that is paused. */
  readonly heartbeats?: 'blocked';
  /** Period of the reaper; absent: it runs only when `reaper.sweep()` is called. */
  readonly reapMs?: number;
}

/** Returns an agent with the `run` of a test. */
export const anAgent = (run: Agent['run'], changes: Partial<Agent> = {}): Agent => ({
  name: 'tester',
  description: 'runs the code of a test',
  version: '1.0.0',
  skills: [{ id: 'test', name: 'Test', description: 'tests', tags: [] }],
  run,
  ...changes,
});

/** One process of Acta without HTTP. It has the parts that Nest composes otherwise, on a database that other replicas share. */
export class Replica {
  readonly errors: unknown[] = [];
  readonly database: Database;
  readonly log: EventLog;
  readonly decoder: EventDecoder;
  readonly wakeups: TaskWakeups;
  readonly writer: TaskWriter;
  readonly reader: TaskReader;
  readonly queue: RunQueue;
  readonly worker: Worker;
  readonly reaper: LeaseReaper;
  readonly workerClaims: WorkerClaims;
  readonly workerRuns: WorkerRuns;
  readonly secret: ServerSecret;
  private readonly sendHandler: SendMessageHandler;
  private readonly cancelHandler: CancelTaskHandler;
  private readonly resumeHandler: ResumeTaskHandler;
  private readonly getHandler: GetTaskHandler;
  private readonly listHandler: ListTasksHandler;

  constructor(url: string, options: ReplicaOptions) {
    const { leaseMs = 30_000, concurrency = 8, retry = { attempts: 3, backoffMs: 1 } } = options;
    const agents = Agents.of(options.agents ?? [anAgent(() => undefined)], retry);
    const onError = ({ error }: ExecutionFailure) => void this.errors.push(error);
    this.secret = new ServerSecret(SECRET);
    this.database = new Database(url, { maxConnections: 8 });
    this.decoder = new EventDecoder(this.secret);
    this.log = new EventLog(this.database, this.secret, this.decoder);
    this.wakeups = new TaskWakeups(this.database);
    this.writer = new TaskWriter(this.log, this.wakeups, leaseMs, options.now);
    this.reader = new TaskReader(this.database, this.decoder, this.log);
    this.queue = new RunQueue(this.database, this.decoder, {
      leaseMs,
      runningPerTenant: options.runningPerTenant ?? 0,
    });
    if (options.heartbeats === 'blocked') this.queue.heartbeat = () => new Promise(() => undefined);
    const { database, decoder, writer, reader, secret, queue } = this;
    const services = { database, writer, reader, secret, onError };
    this.worker = new Worker(services, queue, agents, { concurrency, pollMs: 50 });
    this.reaper = new LeaseReaper(database, writer, queue, agents, onError, options.reapMs ?? 3_600_000);
    // Without polling, only a wake-up ends a wait.
    const waiting = new WaitingClaims(this.wakeups.queuedAgents, 3_600_000);
    this.workerClaims = new WorkerClaims(database, writer, reader, queue, agents, waiting);
    this.workerRuns = new WorkerRuns(database, decoder, writer, queue, agents, secret);
    const access = new AccessAudit(new AuditLog(this.database));
    this.sendHandler = new SendMessageHandler(
      writer,
      reader,
      agents,
      this.worker,
      new Admission(this.database, { queuedPerTenant: options.queuedPerTenant ?? 10_000 }),
      secret,
      new PushPolicy(true, true),
    );
    const policy = options.cancel ?? new CancelPolicy('fence', 5_000);
    this.cancelHandler = new CancelTaskHandler(writer, reader, access, policy, agents, database);
    this.resumeHandler = new ResumeTaskHandler(writer, reader, access);
    this.getHandler = new GetTaskHandler(reader, access);
    this.listHandler = new ListTasksHandler(database, reader, new PageTokens(secret));
  }

  async open(): Promise<this> {
    await this.database.initializeServerState(this.secret);
    await this.wakeups.start();
    this.worker.start();
    this.reaper.start();
    return this;
  }

  /** Stops in the same order as a process that drains. Throws when a run is still active. */
  async close(graceMs = 0): Promise<void> {
    this.workerClaims.stop();
    await this.reaper.stop();
    await this.worker.stop(graceMs);
    await this.wakeups.close();
    await this.database.close();
    if (this.worker.running > 0)
      throw new Error(`${this.worker.running} runs are still active after the worker has stopped`);
  }

  send(principal: Principal, message: Message | string, request: Partial<SendMessageRequest> = {}) {
    const input = typeof message === 'string' ? aMessage(message) : message;
    return this.sendHandler.execute(new SendMessage(principal, { message: input, acknowledged: false, ...request }));
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
    return this.getHandler.execute(new GetTask(principal, taskId, options));
  }

  list(principal: Principal, request: ListTasksRequest = {}) {
    return this.listHandler.execute(new ListTasks(principal, request));
  }

  cancel(principal: Principal, taskId: string, options: CancelTask['options'] = {}): Promise<TaskView> {
    return this.cancelHandler.execute(new CancelTask(principal, taskId, options));
  }

  resume(principal: Principal, taskId: string): Promise<TaskView> {
    return this.resumeHandler.execute(new ResumeTask(principal, taskId));
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
      const loaded = await this.log.head(tenantId, taskId);
      if (loaded !== null && satisfies(loaded.head.state)) return loaded.head.state;
      await changed;
    }
  }
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

  async replica(options: ReplicaOptions = {}): Promise<Replica> {
    const replica = new Replica(this.url, options);
    this.replicas.push(replica);
    return replica.open();
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
