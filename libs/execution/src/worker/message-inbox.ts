import { type Message, type RecordedEvent, requestOfEvent } from '@app/domain';
import { CatchUpSubscription, type TaskEventSource } from '@app/tasks';
import type { MessageRequests } from './conversation.js';

/** What a run is notified of while its agent works. */
export interface InboxListener {
  /** A cancel of the task was requested. */
  onCancelRequested(): void;
  /** The task was canceled, or the run was lost to another one. */
  onRunLost(): void;
  /** The agent was given the message of this version. */
  onMessageRead(version: number): void;
}

/** Receives what happens to a task from outside while a run works on it: client messages, a cancel, the loss of the run. */
export class MessageInbox {
  private readonly subscription: CatchUpSubscription;
  private readonly unread: { readonly version: number; readonly message: Message }[] = [];
  private readonly waitingReaders = new Set<() => void>();
  private closed = false;

  constructor(
    source: TaskEventSource,
    { tenantId, taskId, version }: { readonly tenantId: string; readonly taskId: string; readonly version: number },
    private readonly listener: InboxListener,
    private readonly requests: MessageRequests = new WeakMap(),
  ) {
    this.subscription = new CatchUpSubscription(source, tenantId, taskId, {
      onEvents: () => this.subscription.drain((events) => events.forEach((event) => this.apply(event))),
    });
    this.subscription.start(version);
  }

  /** Yields messages as they arrive, until the run ends. With several readers, each message goes to one of them. */
  async *messages(signal: AbortSignal): AsyncGenerator<Message> {
    const onAbort = () => this.wakeReaders();
    signal.addEventListener('abort', onAbort);
    try {
      for (;;) {
        const next = this.unread.shift();
        if (next !== undefined) {
          this.listener.onMessageRead(next.version);
          yield next.message;
          continue;
        }
        if (this.closed || signal.aborted) return;
        await new Promise<void>((resolve) => this.waitingReaders.add(resolve));
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  close(): void {
    this.closed = true;
    this.subscription.close();
    this.wakeReaders();
  }

  private wakeReaders(): void {
    for (const wake of this.waitingReaders) wake();
    this.waitingReaders.clear();
  }

  private apply(event: RecordedEvent): void {
    switch (event.type) {
      case 'CancelRequested':
        this.listener.onCancelRequested();
        return;
      case 'RunLost':
      case 'TaskCanceled':
        this.listener.onRunLost();
        return;
      case 'MessageAccepted': {
        const message = event.content?.message;
        // Erased or corrupt content is not passed on.
        if (message === undefined) return;
        this.requests.set(message, requestOfEvent(event)!);
        this.unread.push({ version: event.version, message });
        this.wakeReaders();
        return;
      }
      // Events of the run itself, and events that only clients follow.
      case 'TaskSubmitted':
      case 'RunStarted':
      case 'StatusReported':
      case 'ArtifactPublished':
      case 'InputRequested':
      case 'AuthorizationRequested':
      case 'TaskResumed':
      case 'ReplySent':
      case 'TaskCompleted':
      case 'TaskFailed':
      case 'TaskRejected':
      case 'RunRetried':
      case 'PushConfigSet':
      case 'PushConfigDeleted':
        return;
      default:
        event satisfies never;
    }
  }
}
