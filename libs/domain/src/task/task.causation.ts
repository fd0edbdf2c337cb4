import type { TraceContext } from '../trace-context.js';
import type { RecordedEvent } from '../view/task.view.js';
import type { TaskCommand } from './task.commands.js';
import type { EventPosition, TaskEvent } from './task.events.js';
import { evolve } from './task.evolve.js';
import type { TaskState } from './task.state.js';

/** The columns of new events that are the same for all events of one command. */
export interface NewEventColumns {
  readonly recordedAt: string;
  /** The ids of the events, in order. */
  readonly eventIds: readonly string[];
  readonly trace?: TraceContext;
  readonly protocolVersion?: string;
}

/** New events at their positions. */
export interface PositionedEvents {
  readonly events: readonly RecordedEvent[];
  /** The id of the event that caused each of them. Null: a command of a client did. */
  readonly causes: readonly (string | null)[];
  /** The state after the events. */
  readonly after: TaskState;
}

/** Puts the events of one command at the end of a stream. */
export function positionEvents(
  before: TaskState | null,
  events: readonly TaskEvent[],
  { recordedAt, eventIds, trace, protocolVersion }: NewEventColumns,
): PositionedEvents {
  let state = before;
  const causes: (string | null)[] = [];
  const positioned = events.map((event, index): RecordedEvent => {
    const version = (state?.version ?? 0) + 1;
    const eventId = eventIds[index]!;
    causes.push(causeOf(event, state, eventIds[index - 1]));
    state = evolve(state, event, { version, recordedAt, eventId, trace });
    return recordedEvent(event, { version, recordedAt, eventId, trace }, protocolVersion);
  });
  return { events: positioned, causes, after: state! };
}

/** Names each property, because a spread of events of many shapes costs several times as much. */
function recordedEvent(
  { type, facts, content }: TaskEvent,
  { version, recordedAt, eventId, trace }: EventPosition,
  protocolVersion: string | undefined,
): RecordedEvent {
  const recorded = { type, facts, version, recordedAt, eventId } as Mutable<RecordedEvent>;
  if (content !== undefined) recorded.content = content;
  if (trace !== undefined) recorded.trace = trace;
  if (protocolVersion !== undefined) recorded.protocolVersion = protocolVersion;
  return recorded as RecordedEvent;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * Returns the event that caused an event. A run is caused by the event that queued its turn or its retry. The events of a run,
 * and its loss, are caused by its start. What follows a loss in the same append is caused by the loss, and a cancel by the
 * request of it. Null: a command of a client caused the event. `previous` is the id of the previous event of the append.
 */
function causeOf(event: TaskEvent, before: TaskState | null, previous: string | undefined): string | null {
  switch (event.type) {
    case 'TaskSubmitted':
    case 'MessageAccepted':
    case 'TaskResumed':
    case 'CancelRequested':
    case 'PushConfigSet':
    case 'PushConfigDeleted':
      return null;
    case 'RunStarted':
      return before!.queuedBy;
    case 'TaskCanceled': {
      const { cancelRequestedBy = null, run } = before!;
      return event.facts.reason === 'agent' ? (cancelRequestedBy ?? run!.eventId) : cancelRequestedBy;
    }
    case 'RunRetried':
      return previous!;
    case 'TaskFailed':
      return event.facts.reason === 'attempts-exhausted' ? previous! : before!.run!.eventId;
    case 'StatusReported':
    case 'ArtifactPublished':
    case 'InputRequested':
    case 'AuthorizationRequested':
    case 'ReplySent':
    case 'TaskCompleted':
    case 'TaskRejected':
    case 'RunLost':
      return before!.run!.eventId;
  }
}

/**
 * Returns the trace context of the events of a command. Those of a run belong to the request that the run executes, also if the
 * reaper records them. Those of a client's command belong to its request.
 */
export function traceOf(
  command: TaskCommand,
  before: TaskState | null,
  request: TraceContext | undefined,
): TraceContext | undefined {
  switch (command.type) {
    case 'ClaimRun':
      return before?.trace;
    case 'RecordRun':
    case 'LoseRun':
    case 'EnforceCancel':
      return before?.run?.trace;
    case 'SubmitTask':
    case 'AddMessage':
    case 'ResumeTask':
    case 'CancelTask':
    case 'SetPushConfig':
    case 'DeletePushConfig':
      return request;
  }
}
