import { type RecordedEvent, requestOfEvent } from '@app/domain';
import { CatchUpSubscription, type TaskEventSource } from '@app/tasks';
import type { MessageRequests } from '../turn/conversation.js';
import { MessageQueue } from '../turn/message-queue.js';

/** What a run is notified of while its agent works. */
export interface InboxListener {
  /** A cancel of the task was requested. */
  onCancelRequested(): void;
  /** The task was canceled, or the run was lost to another one. */
  onRunLost(): void;
  /** The agent was given the messages up to this version. */
  onMessageRead(version: number): void;
}

/** Receives what happens to a task from outside while a run works on it: client messages, a cancel, the loss of the run. */
export class MessageInbox {
  private readonly subscription: CatchUpSubscription;
  readonly queue: MessageQueue;

  constructor(
    source: TaskEventSource,
    { tenantId, taskId, version }: { readonly tenantId: string; readonly taskId: string; readonly version: number },
    private readonly listener: InboxListener,
    private readonly requests: MessageRequests = new WeakMap(),
  ) {
    this.queue = new MessageQueue((read) => listener.onMessageRead(read));
    this.subscription = new CatchUpSubscription(source, tenantId, taskId, {
      onEvents: () => this.subscription.drain((events) => events.forEach((event) => this.apply(event))),
    });
    this.subscription.start(version);
  }

  close(): void {
    this.subscription.close();
    this.queue.close();
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
        const request = requestOfEvent(event)!;
        this.requests.set(message, request);
        this.queue.push({ version: event.version, message, request });
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
