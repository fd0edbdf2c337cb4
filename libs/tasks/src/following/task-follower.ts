import {
  evolve,
  hasOutcome,
  isTerminal,
  type RecordedEvent,
  TaskFold,
  type TaskState,
  type TaskView,
} from '@app/domain';
import type { TaskHead, TaskWakeups } from '@app/storage';
import type { TaskReader } from '../queries/task-reader.js';
import { CatchUpSubscription } from './catch-up-subscription.js';

/** Bytes of content that a follower keeps in memory to build a view without reading. Above it, the read models serve the view. */
const FOLD_BYTES = 256 * 1024;

/**
 * Follows one task from a command to its outcome, on any replica. It subscribes before the command, so it misses nothing
 * in between. A task that runs in this process is folded in memory from its first event and costs no read.
 */
export class TaskFollower {
  private readonly subscription: CatchUpSubscription;
  private state: TaskState | null = null;
  /** Null if the first event is not in memory, or if the content is too large. */
  private fold: TaskFold | null;
  private foldBytes = 0;
  private onProgress: (() => void) | null = null;

  constructor(
    private readonly source: { readonly reader: TaskReader; readonly wakeups: TaskWakeups },
    private readonly tenantId: string,
    private readonly taskId: string,
  ) {
    this.fold = new TaskFold(tenantId, taskId);
    this.subscription = new CatchUpSubscription(source, tenantId, taskId, { onEvents: () => this.advance() });
  }

  /** Sets the state after the command, and the events that the command appended. Later events are applied to it. */
  startAt({ head, events }: { readonly head: TaskHead; readonly events: readonly RecordedEvent[] }): void {
    if (events[0]?.version === 1) this.addToFold(events);
    else this.fold = null;
    this.state = head.state;
    this.subscription.start(head.state.version);
  }

  get current(): TaskState {
    return this.state!;
  }

  /** Resolves with the state once the task has ended or waits for input or authorization. Rejects when the signal aborts. */
  untilOutcome(signal?: AbortSignal): Promise<TaskState> {
    return this.until(hasOutcome, signal);
  }

  /** Resolves with the state once the task has ended. Rejects when the signal aborts. */
  untilEnd(signal?: AbortSignal): Promise<TaskState> {
    return this.until((state) => isTerminal(state.status), signal);
  }

  /** Returns the task within the bounds of a view, at the version that the follower has seen or later. Null: it is erased. */
  async view(historyLength?: number): Promise<TaskView | null> {
    if (this.fold !== null) return this.fold.view(historyLength);
    const bound = historyLength === undefined ? {} : { historyLength };
    return this.source.reader.view(this.tenantId, this.taskId, { artifacts: true, ...bound });
  }

  /** Returns the task at a version if the follower has exactly that version in memory, else null. */
  viewAt(version: number, historyLength?: number): TaskView | null {
    return this.fold?.state?.version === version ? this.fold.view(historyLength) : null;
  }

  close(): void {
    this.subscription.close();
  }

  private async until(reached: (state: TaskState) => boolean, signal?: AbortSignal): Promise<TaskState> {
    try {
      while (!reached(this.state!)) {
        signal?.throwIfAborted();
        await this.progress(signal);
      }
      return this.state!;
    } finally {
      this.close();
    }
  }

  private progress(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = () => reject(signal!.reason as Error);
      signal?.addEventListener('abort', onAbort, { once: true });
      this.onProgress = () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
    });
  }

  private advance(): void {
    this.subscription.drain((events) => {
      if (this.fold !== null) this.addToFold(events);
      this.state = this.fold?.state ?? stateAfter(this.state!, events);
    });
    const { onProgress } = this;
    this.onProgress = null;
    onProgress?.();
  }

  private addToFold(events: readonly RecordedEvent[]): void {
    for (const event of events) {
      this.foldBytes += 'bytes' in event.facts ? (event.facts.bytes ?? 0) : 0;
      this.fold!.add(event);
    }
    if (this.foldBytes > FOLD_BYTES) this.fold = null;
  }
}

const stateAfter = (state: TaskState, events: readonly RecordedEvent[]): TaskState =>
  events.reduce<TaskState>((current, event) => evolve(current, event, event), state);
