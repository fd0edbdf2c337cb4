import { validateRunOutput } from '../agent-output.js';
import { BOUNDS } from '../bounds.js';
import { encodedBytes, type Message } from '../content.js';
import { DomainError, invalidField } from '../errors.js';
import type { Claim, Fence, PushTarget, Retry, RunOutput, TaskCommand } from './task.commands.js';
import type { StreamPosition, LossReason, TaskEvent, TaskEventFacts } from './task.events.js';
import { activeRun, evolve, isInterrupted, isQueued, isTerminal, type TaskState } from './task.state.js';

/**
 * What a command does to a task: the events that record it, or a `DomainError`. Pure: `at` is the time of the events
 * (RFC 3339, UTC, milliseconds). No events means that the record already has what was asked.
 *
 * Errors: TaskEnded (a message to an ended task), TaskNotCancelable, Fenced (a write without the current lease and
 * dispatcher generation), InvalidAgentResponse (agent output that breaks the contract), InvalidParameters (history full).
 */
export function decide(state: TaskState | null, taskId: string, command: TaskCommand, at: string): TaskEvent[] {
  if (command.type === 'SubmitTask') {
    if (state !== null) throw new Error(`task ${taskId} exists already`);
    const { contextId, ring, owner, agent, acknowledged } = command;
    const submitted: TaskEvent = { type: 'TaskSubmitted', facts: { contextId, ring, owner, agent, acknowledged } };
    const { message, push, claim } = command;
    return withClaim(null, [submitted, ...pushesSet(null, push), accepted(message)], claim, at);
  }
  if (state === null) throw new DomainError('TaskNotFound', 'task not found', { taskId });
  switch (command.type) {
    case 'AddMessage':
      return withClaim(state, addMessage(state, taskId, command.message, command.push), command.claim, at);
    case 'ResumeTask':
      return withClaim(state, resume(state, taskId), command.claim, at);
    case 'ClaimRun':
      return isQueued(state) ? [started(state, command.claim)] : [];
    case 'RecordRun':
      return recordRun(state, taskId, command, at);
    case 'LoseRun':
      checkFence(state, taskId, command.fence);
      return loseRun(state, command.reason, command.retry);
    case 'CancelTask':
      return cancel(state, taskId, command);
    case 'EnforceCancel':
      return state.cancelDeadline !== null && state.cancelDeadline <= command.now && !isTerminal(state.status)
        ? [{ type: 'TaskCanceled', facts: { reason: 'deadline' } }]
        : [];
    case 'SetPushConfig':
      return pushesSet(state, command.push);
    case 'DeletePushConfig':
      return state.pushConfigs?.includes(command.configId)
        ? [{ type: 'PushConfigDeleted', facts: { configId: command.configId } }]
        : [];
  }
}

/** `evolve` over several new events, as the append will place them. */
export function evolveAll(state: TaskState | null, events: readonly TaskEvent[], recordedAt: string): TaskState | null {
  return events.reduce<TaskState | null>(
    (current, event) => evolve(current, event, nextPlace(current, recordedAt)),
    state,
  );
}

const nextPlace = (state: TaskState | null, recordedAt: string): StreamPosition => ({
  version: (state?.version ?? 0) + 1,
  recordedAt,
});

function withClaim(state: TaskState | null, events: TaskEvent[], claim: Claim | undefined, at: string): TaskEvent[] {
  if (claim === undefined) return events;
  const after = evolveAll(state, events, at);
  if (after === null || !isQueued(after)) return events;
  // A retry waits its time out, whoever writes to the task meanwhile, and the queue knows by the right clock when that is.
  return after.notBefore === null ? [...events, started(after, claim)] : events;
}

function accepted(message: Message): TaskEvent {
  const { messageId, parts, referenceTaskIds } = message;
  const facts = { messageId, parts: parts.length, bytes: encodedBytes(message) };
  return {
    type: 'MessageAccepted',
    facts: referenceTaskIds === undefined ? facts : { ...facts, referenceTaskIds },
    content: { message },
  };
}

function addMessage(state: TaskState, taskId: string, message: Message, push?: PushTarget): TaskEvent[] {
  if (isTerminal(state.status)) throw ended(state, taskId);
  const { count, bytes } = state.clientMessages;
  if (count >= BOUNDS.clientMessages) {
    throw invalidField(
      'message',
      `the task already holds ${BOUNDS.clientMessages} messages, its limit; start a new task`,
    );
  }
  if (bytes + encodedBytes(message) > BOUNDS.clientHistoryBytes) {
    throw invalidField(
      'message',
      `the task's messages would exceed ${BOUNDS.clientHistoryBytes} bytes; start a new task`,
    );
  }
  return [...pushesSet(state, push), accepted(message)];
}

function pushesSet(state: TaskState | null, push: PushTarget | undefined): TaskEvent[] {
  if (push === undefined) return [];
  const { configId, protocolVersion, url } = push;
  const present = state?.pushConfigs ?? [];
  if (present.length >= BOUNDS.pushConfigs && !present.includes(configId)) {
    throw invalidField('pushConfig', `the task already has ${BOUNDS.pushConfigs} of them, its limit; delete one first`);
  }
  return [{ type: 'PushConfigSet', facts: { configId, protocolVersion }, content: { push: { url } } }];
}

/** Work that goes on already needs no resuming, and what a resume has brought to its end was resumed: a repeat adds nothing. */
function resume(state: TaskState, taskId: string): TaskEvent[] {
  if (isTerminal(state.status)) {
    if (state.resumedGeneration === state.dispatcherGeneration) return [];
    throw ended(state, taskId);
  }
  if (state.status === 'input-required') {
    throw invalidField('id', 'the task waits for input, not for an authorization: send it a message');
  }
  if (state.status !== 'auth-required') return [];
  return [{ type: 'TaskResumed', facts: { dispatcherGeneration: state.dispatcherGeneration + 1 } }];
}

const ended = ({ status }: TaskState, taskId: string) =>
  new DomainError('TaskEnded', `the task is ${status} and takes no more messages; start a new task`, {
    taskId,
    status,
  });

function started(state: TaskState, { runId, worker }: Claim): TaskEvent {
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

function checkFence(state: TaskState, taskId: string, fence: Fence): void {
  const run = activeRun(state);
  if (
    run !== null &&
    run.id === fence.runId &&
    run.leaseGeneration === fence.leaseGeneration &&
    state.dispatcherGeneration === fence.dispatcherGeneration
  ) {
    return;
  }
  throw fenced(state, taskId);
}

/** The error of a worker whose right to write has passed to another, or whose task has ended. */
export function fenced(state: TaskState, taskId: string): DomainError<'Fenced'> {
  const { leaseGeneration, dispatcherGeneration } = state;
  return new DomainError('Fenced', 'this run no longer holds the task; stop working on it', {
    taskId,
    leaseGeneration,
    dispatcherGeneration,
  });
}

function recordRun(
  state: TaskState,
  taskId: string,
  { fence, seq, outputs, readThrough }: Extract<TaskCommand, { type: 'RecordRun' }>,
  at: string,
): TaskEvent[] {
  // A repeat of a write whose answer was lost adds nothing, even when that write ended the run.
  if (state.run?.id === fence.runId && state.run.leaseGeneration === fence.leaseGeneration && seq <= state.run.seq) {
    return [];
  }
  checkFence(state, taskId, fence);
  const events: TaskEvent[] = [];
  let current = state;
  for (const output of outputs) {
    if (activeRun(current) === null) throw fenced(current, taskId);
    const produced = recordOutput(current, taskId, output, { runId: fence.runId, seq }, readThrough);
    for (const event of produced) current = evolve(current, event, nextPlace(current, at));
    events.push(...produced);
  }
  // The run ended its turn while a cancel was waiting for it: the cancel still stands.
  if (current.cancelDeadline !== null && !isTerminal(current.status) && activeRun(current) === null) {
    events.push({ type: 'TaskCanceled', facts: { reason: 'idle' } });
  }
  return events;
}

function recordOutput(
  state: TaskState,
  taskId: string,
  output: RunOutput,
  run: { runId: string; seq: number },
  readThrough: number,
): TaskEvent[] {
  validateRunOutput(output, taskId);
  const nextTurn = state.clientMessages.lastVersion > readThrough;
  switch (output.type) {
    case 'status': {
      const { message, upstream } = output;
      return [agentSaid('StatusReported', upstream === undefined ? run : { ...run, upstream }, message)];
    }
    case 'artifact':
      return [published(state, taskId, output, run)];
    case 'input-required':
      return [agentSaid('InputRequested', { ...run, nextTurn }, output.message)];
    case 'auth-required':
      return [agentSaid('AuthorizationRequested', { ...run, nextTurn }, output.message)];
    case 'complete':
      return [agentSaid('TaskCompleted', run, output.message)];
    case 'fail':
      return [
        agentSaid(
          'TaskFailed',
          { ...run, reason: output.invalid ? 'invalid-agent-response' : 'agent' },
          output.message,
        ),
      ];
    case 'reject':
      return [agentSaid('TaskRejected', run, output.message)];
    case 'reply':
      return [agentSaid(state.acknowledged ? 'TaskCompleted' : 'ReplySent', run, output.message)];
    case 'canceled':
      return [agentSaid('TaskCanceled', { seq: run.seq, reason: 'agent' }, output.message)];
    case 'lost':
      return loseRun(state, output.reason, output.retry, run.seq);
  }
}

type Saying = Exclude<
  TaskEvent['type'],
  'TaskSubmitted' | 'TaskResumed' | 'MessageAccepted' | 'RunStarted' | 'ArtifactPublished'
>;

/** An event of which the agent's message, if there is one, is the content. */
function agentSaid<T extends Saying>(type: T, facts: TaskEventFacts[T], message: Message | undefined): TaskEvent {
  if (message === undefined) return { type, facts } as TaskEvent;
  const said = { ...facts, messageId: message.messageId, bytes: encodedBytes(message) };
  return { type, facts: said, content: { message } } as TaskEvent;
}

function published(
  state: TaskState,
  taskId: string,
  { artifactId, artifact, append, last }: Extract<RunOutput, { type: 'artifact' }>,
  run: { runId: string; seq: number },
): TaskEvent {
  const started = state.run?.artifacts ?? [];
  const breaks = (what: string) =>
    new DomainError('InvalidAgentResponse', `invalid agent response: ${what}`, { taskId });
  if (append && !started.includes(artifactId)) {
    throw breaks(`a chunk for artifact "${artifactId}", which this run has not started`);
  }
  if (!append && !started.includes(artifactId) && started.length >= BOUNDS.runArtifacts) {
    throw breaks(`more than ${BOUNDS.runArtifacts} artifacts in one run`);
  }
  return {
    type: 'ArtifactPublished',
    facts: { ...run, artifactId, append, last, parts: artifact.parts.length, bytes: encodedBytes(artifact) },
    content: { artifact },
  };
}

function loseRun(state: TaskState, reason: LossReason, retry: Retry, seq?: number): TaskEvent[] {
  const run = activeRun(state);
  if (run === null) return [];
  const lost: TaskEvent = { type: 'RunLost', facts: { runId: run.id, reason, ...(seq === undefined ? {} : { seq }) } };
  if (state.cancelDeadline !== null) return [lost, { type: 'TaskCanceled', facts: { reason: 'lease' } }];
  const counted = reason !== 'released';
  if (counted && state.attempts >= retry.maxAttempts) {
    const why = `all ${retry.maxAttempts} attempts were lost; the last one: ${reason}`;
    const message: Message = { messageId: `${run.id}:lost`, role: 'agent', parts: [{ text: why }] };
    return [lost, agentSaid('TaskFailed', { runId: run.id, seq: run.seq, reason: 'attempts-exhausted' }, message)];
  }
  const { notBefore } = retry;
  const dispatcherGeneration = state.dispatcherGeneration + 1;
  return [lost, { type: 'RunRetried', facts: { attempt: state.attempts, dispatcherGeneration, notBefore, counted } }];
}

function cancel(
  state: TaskState,
  taskId: string,
  { policy, deadline, holder }: Extract<TaskCommand, { type: 'CancelTask' }>,
): TaskEvent[] {
  const refuse = (why: string) =>
    new DomainError('TaskNotCancelable', `the task cannot be canceled: ${why}`, { taskId, status: state.status });
  if (state.status === 'canceled') return [];
  if (isTerminal(state.status)) throw refuse(`it is ${state.status}`);
  const run = activeRun(state);
  if (run === null || isInterrupted(state.status)) return [{ type: 'TaskCanceled', facts: { reason: 'idle' } }];
  if (policy === 'holder-only') {
    const matches =
      holder?.worker === run.worker &&
      holder.runId === run.id &&
      holder.leaseGeneration === run.leaseGeneration &&
      holder.dispatcherGeneration === state.dispatcherGeneration;
    if (!matches) throw refuse('a worker holds it, and only that worker may cancel it');
    return [{ type: 'TaskCanceled', facts: { reason: 'holder' } }];
  }
  return state.cancelDeadline === null ? [{ type: 'CancelRequested', facts: { deadline } }] : [];
}
