import type { RecordedEvent } from '@app/domain';
import { Logger } from '@nestjs/common';
import { config, Observable, Subject } from 'rxjs';
import type { Database, NamedStatement } from '../postgres/database.js';
import { taskKeyOf, type TaskNotification } from './notification-payload.js';
import { NotifyChannel } from './notify-channel.js';

/** A task has new events. */
export interface TaskChange extends TaskNotification {
  /** The new events. Present only if this process has appended them. */
  readonly events?: readonly RecordedEvent[];
}

interface WatchedTask {
  readonly tenantId: string;
  readonly taskId: string;
  readonly subject: Subject<TaskChange>;
  /** The newest version that the subscribers have received. */
  seenVersion: number;
}

const POLL_INTERVAL_MS = 1_000;
const POLL_INTERVAL_DISCONNECTED_MS = 200;
const READ_NEWER_VERSIONS: NamedStatement = {
  name: 'poll_versions',
  text: `select t.tenant_id, t.task_id, t.version
    from unnest($1::text[], $2::uuid[], $3::integer[]) as w (tenant_id, task_id, seen)
    join task t on t.tenant_id = w.tenant_id and t.task_id = w.task_id
    where t.version > w.seen`,
};

/**
 * Notifies subscribers of changed tasks: immediately within this process, and through `NotifyChannel` in the other
 * processes. A wake-up is a hint that can be lost, so the tasks that have subscribers are also polled.
 */
export class TaskWakeups {
  private readonly watchedTasks = new Map<string, WatchedTask>();
  private readonly queuedAgentSubject = new Subject<string>();
  private readonly webhookDeliverySubject = new Subject<void>();
  private readonly channel: NotifyChannel;
  private pollTimer: NodeJS.Timeout | null = null;
  private isClosed = false;

  constructor(private readonly database: Database) {
    this.channel = new NotifyChannel(database.connection, (notification) => this.emit(notification));
    // By default RxJS throws the error of a subscriber outside of any call, which ends the process. RxJS has only this
    // global setting.
    const logger = new Logger('wakeups');
    config.onUnhandledError = (error: unknown) =>
      logger.error({
        message: 'wake-up subscriber failed',
        stack: error instanceof Error ? error.stack : String(error),
      });
  }

  /** Emits the name of an agent when a run of that agent has been queued by any process. */
  readonly queuedAgents: Observable<string> = this.queuedAgentSubject.asObservable();

  /** Emits when any process has created webhook deliveries. */
  readonly webhookDeliveries: Observable<void> = this.webhookDeliverySubject.asObservable();

  /** Connects to the other processes. Until then, subscribers receive only the changes of this process. */
  async start(): Promise<void> {
    await this.channel.connect();
    this.schedulePoll();
  }

  /** Announces an append of this process. Call it after the commit. */
  publish(change: TaskChange): void {
    this.emit(change);
    this.channel.send(change);
  }

  /** Emits later changes of one task. It can repeat or omit a version; the event log has all of them. */
  changes(tenantId: string, taskId: string): Observable<TaskChange> {
    return new Observable((subscriber) => {
      const key = taskKeyOf({ tenantId, taskId });
      const watched = this.watchedTasks.get(key) ?? {
        tenantId,
        taskId,
        subject: new Subject<TaskChange>(),
        seenVersion: 0,
      };
      this.watchedTasks.set(key, watched);
      const subscription = watched.subject.subscribe(subscriber);
      return () => {
        subscription.unsubscribe();
        if (!watched.subject.observed) this.watchedTasks.delete(key);
      };
    });
  }

  async close(): Promise<void> {
    this.isClosed = true;
    if (this.pollTimer !== null) clearTimeout(this.pollTimer);
    await this.channel.close();
  }

  private emit(change: TaskChange): void {
    const watched = this.watchedTasks.get(taskKeyOf(change));
    if (watched !== undefined) {
      watched.seenVersion = Math.max(watched.seenVersion, change.version);
      watched.subject.next(change);
    }
    if (change.queuedAgent !== undefined) this.queuedAgentSubject.next(change.queuedAgent);
    if (change.hasWebhookDeliveries === true) this.webhookDeliverySubject.next();
  }

  private schedulePoll(): void {
    if (this.isClosed) return;
    this.pollTimer = setTimeout(
      () => void this.poll().finally(() => this.schedulePoll()),
      this.channel.isListening ? POLL_INTERVAL_MS : POLL_INTERVAL_DISCONNECTED_MS,
    );
    this.pollTimer.unref();
  }

  private async poll(): Promise<void> {
    // Not awaited, so that a connection that does not respond cannot delay the poll.
    void this.channel.probePeers();
    if (this.watchedTasks.size === 0) return;
    const watched = [...this.watchedTasks.values()];
    const rows = await this.database
      .run<{ tenant_id: string; task_id: string; version: number }>(READ_NEWER_VERSIONS, [
        watched.map(({ tenantId }) => tenantId),
        watched.map(({ taskId }) => taskId),
        watched.map(({ seenVersion }) => seenVersion),
      ])
      .catch(() => []);
    for (const row of rows) this.emit({ tenantId: row.tenant_id, taskId: row.task_id, version: row.version });
  }
}
