import { BOUNDS } from '../bounds.js';
import { encodedBytes, type Message } from '../content.js';
import type { SendRecord } from '../message-request.js';
import { DomainError, invalidField, taskNotFound } from '../errors.js';
import type { Claim, PushTarget, TaskCommand } from './task.commands.js';
import type { TaskEvent } from './task.events.js';
import { evolveAll } from './task.evolve.js';
import { checkFence, loseRun, recordRun } from './task.record-run.js';
import { activeRun, isInterrupted, isQueued, isTerminal, type TaskState } from './task.state.js';
import { isSameWebhook } from './webhook-id.js';

/**
 * Returns the events that record a command, or throws a `DomainError`. It is a pure function. `time` is the time of the events
 * (RFC 3339, UTC, milliseconds). It returns no events if the stream already records the command.
 *
 * Errors: TaskNotFound, TaskEnded (a message to an ended task), TaskNotCancelable, Fenced (a write without the current lease and
 * dispatcher generation), InvalidAgentResponse (agent output that violates the contract), InvalidParameters (a bound of the
 * task is reached).
 */
export function decide(state: TaskState | null, taskId: string, command: TaskCommand, time: string): TaskEvent[] {
  if (command.type === 'SubmitTask') {
    if (state !== null) throw new Error(`task ${taskId} already exists`);
    return withClaim(null, submit(command), command.claim, time);
  }
  if (state === null) throw taskNotFound(taskId);
  switch (command.type) {
    case 'AddMessage':
      return withClaim(state, addMessage(state, taskId, command), command.claim, time);
    case 'ResumeTask':
      return withClaim(state, resume(state, taskId), command.claim, time);
    case 'ClaimRun':
      return isQueued(state) ? [runStarted(state, command.claim)] : [];
    case 'RecordRun':
      return recordRun(state, taskId, command, time);
    case 'LoseRun':
      checkFence(state, taskId, command.fence);
      return loseRun(state, command);
    case 'CancelTask':
      return cancel(state, taskId, command);
    case 'EnforceCancel':
      return state.cancelDeadline !== null && state.cancelDeadline <= command.now && !isTerminal(state.status)
        ? [{ type: 'TaskCanceled', facts: { reason: 'deadline' } }]
        : [];
    case 'SetPushConfig':
      return setPushConfig(state, command.push);
    case 'DeletePushConfig':
      return deletePushConfig(state, command);
  }
}

/** Adds the start of a run if a worker claims it and the task is queued. */
function withClaim(state: TaskState | null, events: TaskEvent[], claim: Claim | undefined, time: string): TaskEvent[] {
  if (claim === undefined) return events;
  const after = evolveAll(state, events, time);
  // A retry waits until its time, even if a message arrives earlier. The queue compares that time with the database time.
  if (after === null || !isQueued(after) || after.notBefore !== null) return events;
  return [...events, runStarted(after, claim)];
}

function runStarted(state: TaskState, { runId, worker }: Claim): TaskEvent {
  return {
    type: 'RunStarted',
    facts: {
      runId,
      worker,
      attempt: state.attempts + 1,
      leaseGeneration: state.leaseGeneration + 1,
      dispatcherGeneration: state.dispatcherGeneration,
    },
  };
}

function submit(command: Extract<TaskCommand, { type: 'SubmitTask' }>): TaskEvent[] {
  const { contextId, ring, owner, agent, acknowledged, message, request, push } = command;
  return [
    { type: 'TaskSubmitted', facts: { contextId, ring, owner, agent, acknowledged } },
    ...setPushConfig(null, push),
    messageAccepted(message, request),
  ];
}

function messageAccepted(message: Message, request: SendRecord): TaskEvent {
  const { messageId, parts, referenceTaskIds } = message;
  const { configuration, extensions, addressClass, metadata, clientName } = request;
  const hasContent = metadata !== undefined || clientName !== undefined;
  return {
    type: 'MessageAccepted',
    facts: {
      messageId,
      parts: parts.length,
      bytes: sentBytes(message, request),
      ...(referenceTaskIds === undefined ? {} : { referenceTaskIds }),
      request: withoutUndefined({ configuration: withoutUndefined(configuration), extensions, addressClass }),
    },
    content: hasContent ? { message, request: withoutUndefined({ metadata, clientName }) } : { message },
  };
}

/** New events equal those that are read again, so absent values are omitted. */
function withoutUndefined<T extends object>(value: T): T {
  const present: Partial<T> = {};
  for (const name in value) if (value[name] !== undefined) present[name] = value[name];
  return present as T;
}

/** Returns the bytes that a send adds to the history: its message, and the metadata of its request. */
const sentBytes = (message: Message, { metadata }: SendRecord): number =>
  encodedBytes(message) + (metadata === undefined ? 0 : encodedBytes(metadata));

function addMessage(
  state: TaskState,
  taskId: string,
  { message, request, push }: Extract<TaskCommand, { type: 'AddMessage' }>,
): TaskEvent[] {
  if (isTerminal(state.status)) throw taskEnded(state, taskId);
  const { count, bytes } = state.clientMessages;
  if (count >= BOUNDS.clientMessages) {
    throw invalidField(
      'message',
      `the task already has ${BOUNDS.clientMessages} messages, which is the limit; start a new task`,
    );
  }
  const total = bytes + sentBytes(message, request);
  if (total > BOUNDS.clientHistoryBytes) {
    throw invalidField(
      'message',
      `the task's messages would have ${total} bytes; the limit is ${BOUNDS.clientHistoryBytes} bytes; start a new task`,
    );
  }
  return [...setPushConfig(state, push), messageAccepted(message, request)];
}

function setPushConfig(state: TaskState | null, push: PushTarget | undefined): TaskEvent[] {
  if (push === undefined) return [];
  const { subject, configId, protocolVersion, url } = push;
  const own = (state?.pushConfigs ?? []).filter((webhook) => webhook.subject === subject);
  if (own.length >= BOUNDS.pushConfigs && !own.some((webhook) => webhook.configId === configId)) {
    throw invalidField(
      'pushConfig',
      `the caller already has ${BOUNDS.pushConfigs} push configurations of the task, which is the limit; delete one first`,
    );
  }
  return [{ type: 'PushConfigSet', facts: { subject, configId, protocolVersion }, content: { push: { url } } }];
}

function deletePushConfig(
  { pushConfigs = [] }: TaskState,
  { subject, configId, reason }: Extract<TaskCommand, { type: 'DeletePushConfig' }>,
): TaskEvent[] {
  const webhook = { subject, configId };
  if (!pushConfigs.some((present) => isSameWebhook(present, webhook))) return [];
  return [{ type: 'PushConfigDeleted', facts: reason === undefined ? webhook : { ...webhook, reason } }];
}

/** Adds nothing to active work, or to a turn that a resume started and that has ended, because the command may be a repeat. */
function resume(state: TaskState, taskId: string): TaskEvent[] {
  if (isTerminal(state.status)) {
    if (state.resumedGeneration === state.dispatcherGeneration) return [];
    throw taskEnded(state, taskId);
  }
  if (state.status === 'input-required') {
    throw invalidField('id', 'the task waits for input, not for an authorization; send it a message');
  }
  if (state.status !== 'auth-required') return [];
  return [{ type: 'TaskResumed', facts: { dispatcherGeneration: state.dispatcherGeneration + 1 } }];
}

const taskEnded = ({ status }: TaskState, taskId: string) =>
  new DomainError('TaskEnded', `the task is ${status} and accepts no more messages; start a new task`, {
    taskId,
    status,
  });

function cancel(
  state: TaskState,
  taskId: string,
  { policy, deadline, holder }: Extract<TaskCommand, { type: 'CancelTask' }>,
): TaskEvent[] {
  const notCancelable = (reason: string) =>
    new DomainError('TaskNotCancelable', reason, { taskId, status: state.status });
  if (state.status === 'canceled') return [];
  if (isTerminal(state.status))
    throw notCancelable(`the task is ${state.status} and cannot be canceled; read its result`);
  const run = activeRun(state);
  if (run === null || isInterrupted(state.status)) return [{ type: 'TaskCanceled', facts: { reason: 'idle' } }];
  if (policy === 'holder-only') {
    const isHolder =
      holder?.worker === run.worker &&
      holder.runId === run.id &&
      holder.leaseGeneration === run.leaseGeneration &&
      holder.dispatcherGeneration === state.dispatcherGeneration;
    if (!isHolder) throw notCancelable(`the worker "${run.worker}" runs the task, and only it can cancel the task`);
    return [{ type: 'TaskCanceled', facts: { reason: 'holder' } }];
  }
  return state.cancelDeadline === null ? [{ type: 'CancelRequested', facts: { deadline } }] : [];
}
