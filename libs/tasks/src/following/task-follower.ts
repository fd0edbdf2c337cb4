import { setTimeout } from 'node:timers/promises';
import { hasOutcome, isTerminal, type RecordedEvent, TaskFold, type TaskState, type TaskView } from '@app/domain';
import type { StreamHead, TaskChange } from '@app/storage';
import type { Subscription } from 'rxjs';
import type { TaskReader } from '../queries/task-reader.js';
import type { TaskWriter } from '../commands/task-writer.js';

/** Bytes of content that a follower keeps in memory to answer without reading; beyond it the read models answer. */
const FOLD_BYTES = 256 * 1024;
const RELOAD_MS = 200;

/**
 * Follows one task from a command to its outcome, on any replica. It listens from before the command, so nothing falls
 * between the two. A task that ran in this process from its first event is folded as it happens and costs no read.
 */
export class TaskFollower {
  private readonly subscription: Subscription;
  private readonly early: TaskChange[] = [];
  private state: TaskState | null = null;
  private fold: TaskFold | null;
  private foldBytes = 0;
  private announced = 0;
  private loading = false;
  private notify: (() => void) | null = null;

  constructor(
    private readonly streams: TaskWriter,
    private readonly reader: TaskReader,
    private readonly tenantId: string,
    private readonly taskId: string,
  ) {
    this.fold = new TaskFold(tenantId, taskId);
    this.subscription = streams.wakeups.changes(tenantId, taskId).subscribe((change) => this.hear(change));
  }

  /** Where the task stands after the command that this follower was made for. */
  startAt({ head, events }: { head: StreamHead; events: readonly RecordedEvent[] }): void {
    if (events[0]?.version === 1) this.addToFold(events);
    else this.fold = null;
    this.state = head.state;
    for (const change of this.early) this.hear(change);
    this.early.length = 0;
  }

  get current(): TaskState {
    return this.state!;
  }

  /** Resolves with the state once the task has ended or asks for something; at once when it has already. */
  untilOutcome(signal?: AbortSignal): Promise<TaskState> {
    return this.until(hasOutcome, signal);
  }

  untilEnd(signal?: AbortSignal): Promise<TaskState> {
    return this.until((state) => isTerminal(state.status), signal);
  }

  /** The task as the follower has seen it, within the bounds of a view; null when it is gone. */
  async view(historyLength?: number): Promise<TaskView | null> {
    if (this.fold?.state?.version !== this.state?.version) this.fold = null;
    if (this.fold === null) {
      return this.reader.view(this.tenantId, this.taskId, {
        artifacts: true,
        ...(historyLength === undefined ? {} : { historyLength }),
      });
    }
    return this.fold.view(historyLength);
  }

  /** The task at a version, when that is what the follower holds in memory; else null, and the read models have it. */
  heldView(version: number, historyLength?: number): TaskView | null {
    return this.fold?.state?.version === version ? this.fold.view(historyLength) : null;
  }

  close(): void {
    this.subscription.unsubscribe();
  }

  private async until(reached: (state: TaskState) => boolean, signal?: AbortSignal): Promise<TaskState> {
    try {
      while (!reached(this.state!)) {
        signal?.throwIfAborted();
        await new Promise<void>((resolve, reject) => {
          const aborted = () => reject(signal!.reason as Error);
          signal?.addEventListener('abort', aborted, { once: true });
          this.notify = () => {
            signal?.removeEventListener('abort', aborted);
            resolve();
          };
        });
      }
      return this.state!;
    } finally {
      this.close();
    }
  }

  private hear(change: TaskChange): void {
    if (this.state === null) {
      this.early.push(change);
      return;
    }
    if (change.version <= this.state.version) return;
    this.announced = Math.max(this.announced, change.version);
    const { events } = change;
    if (events !== undefined && this.fold !== null && events[0]!.version === this.state.version + 1) {
      this.addToFold(events);
      if (this.fold !== null) {
        this.state = this.fold.state!;
        this.wake();
        return;
      }
    }
    void this.reload();
  }

  private addToFold(events: readonly RecordedEvent[]): void {
    for (const event of events) {
      this.foldBytes += 'bytes' in event.facts ? (event.facts.bytes ?? 0) : 0;
      this.fold!.add(event);
    }
    if (this.foldBytes > FOLD_BYTES) this.fold = null;
  }

  /** The change came from another process, or left a gap: ask the row, and again while newer versions are announced. */
  private async reload(): Promise<void> {
    if (this.loading) return;
    this.loading = true;
    while (this.announced > this.state!.version && !this.subscription.closed) {
      const loaded = await this.streams.head(this.tenantId, this.taskId).catch(() => null);
      if (loaded !== null && loaded.head.state.version > this.state!.version) {
        this.state = loaded.head.state;
        // The fold lacks what was skipped: from here on the read models answer.
        this.fold = null;
      } else {
        // The database is away, or a failover has lost what was announced.
        await setTimeout(RELOAD_MS);
      }
    }
    this.loading = false;
    this.wake();
  }

  private wake(): void {
    const { notify } = this;
    this.notify = null;
    notify?.();
  }
}
