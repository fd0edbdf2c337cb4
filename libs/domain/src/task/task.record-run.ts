import { validateRunOutput } from '../agent/agent-output.js';
import { BOUNDS } from '../bounds.js';
import { encodedBytes, type Message } from '../content.js';
import { DomainError } from '../errors.js';
import type { Fence, Loss, RunOutput, TaskCommand } from './task.commands.js';
import type { LossReason, TaskEvent, TaskEventFacts } from './task.events.js';
import { evolve, nextPosition } from './task.evolve.js';
import { activeRun, isTerminal, type TaskState } from './task.state.js';

interface RunWrite {
  readonly runId: string;
  readonly seq: number;
}

/** Returns the events of one write of a run. `time` is their RFC 3339 time. Errors: Fenced, InvalidAgentResponse. */
export function recordRun(
  state: TaskState,
  taskId: string,
  { fence, seq, outputs, readThrough }: Extract<TaskCommand, { type: 'RecordRun' }>,
  time: string,
): TaskEvent[] {
  // A worker repeats a write whose response was lost. The repeat adds nothing, even if the write ended the run.
  if (state.run?.id === fence.runId && state.run.leaseGeneration === fence.leaseGeneration && seq <= state.run.seq) {
    return [];
  }
  checkFence(state, taskId, fence);
  const events: TaskEvent[] = [];
  let current = state;
  for (const output of outputs) {
    if (activeRun(current) === null) throw fenced(current, taskId);
    const produced = recordOutput(current, taskId, output, { runId: fence.runId, seq }, readThrough);
    for (const event of produced) current = evolve(current, event, nextPosition(current, time));
    events.push(...produced);
  }
  // The run ended its turn while a cancel was pending: the cancel still applies.
  if (current.cancelDeadline !== null && !isTerminal(current.status) && activeRun(current) === null) {
    events.push({ type: 'TaskCanceled', facts: { reason: 'idle' } });
  }
  return events;
}

/** Losses that use no attempt, because the agent did nothing wrong. */
const UNCOUNTED: readonly LossReason[] = ['released', 'database-error'];

/** Returns the events of a lost run: a retry, or the end of the task. `seq` is that of the write that released the run, if any. */
export function loseRun(state: TaskState, loss: Loss, seq?: number): TaskEvent[] {
  const { reason, retry, cause, counted = !UNCOUNTED.includes(reason), ownProcess = false } = loss;
  const run = activeRun(state);
  if (run === null) return [];
  const lost: TaskEvent = {
    type: 'RunLost',
    facts: {
      runId: run.id,
      reason,
      ...(cause === undefined ? {} : { cause }),
      ...(ownProcess ? { ownProcess } : {}),
      ...(seq === undefined ? {} : { seq }),
    },
  };
  if (state.cancelDeadline !== null) return [lost, { type: 'TaskCanceled', facts: { reason: 'lease' } }];
  if (counted && state.attempts >= retry.maxAttempts) {
    const exhausted =
      retry.maxAttempts === 1
        ? 'the only attempt was lost'
        : `all ${retry.maxAttempts} attempts were lost; the last one`;
    const text = `${exhausted}: ${cause ?? reason}`;
    const message: Message = { messageId: `${run.id}:lost`, role: 'agent', parts: [{ text }] };
    return [lost, agentEvent('TaskFailed', { runId: run.id, seq: run.seq, reason: 'attempts-exhausted' }, message)];
  }
  const { notBefore } = retry;
  const dispatcherGeneration = state.dispatcherGeneration + 1;
  return [lost, { type: 'RunRetried', facts: { attempt: state.attempts, dispatcherGeneration, notBefore, counted } }];
}

export function checkFence(state: TaskState, taskId: string, fence: Fence): void {
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

/** Returns the error for a worker that no longer holds the task, or whose task has ended. */
export function fenced(state: TaskState, taskId: string): DomainError<'Fenced'> {
  const { leaseGeneration, dispatcherGeneration } = state;
  return new DomainError('Fenced', 'this run no longer holds the task; stop working on it', {
    taskId,
    leaseGeneration,
    dispatcherGeneration,
  });
}

const ENDS_TURN: Record<RunOutput['type'], boolean> = {
  status: false,
  artifact: false,
  'input-required': true,
  'auth-required': true,
  complete: true,
  fail: true,
  reject: true,
  reply: true,
  canceled: true,
  lost: true,
};

/** Returns whether an output ends the turn of its run, so that the run can write nothing more. */
export const endsTurn = ({ type }: RunOutput): boolean => ENDS_TURN[type];

function recordOutput(
  state: TaskState,
  taskId: string,
  output: RunOutput,
  write: RunWrite,
  readThrough: number,
): TaskEvent[] {
  validateRunOutput(output, taskId);
  const nextTurn = state.clientMessages.lastVersion > readThrough;
  switch (output.type) {
    case 'status': {
      const { message, upstream } = output;
      return [agentEvent('StatusReported', upstream === undefined ? write : { ...write, upstream }, message)];
    }
    case 'artifact':
      return [artifactPublished(state, taskId, output, write)];
    case 'input-required':
      return [agentEvent('InputRequested', { ...write, nextTurn }, output.message)];
    case 'auth-required':
      return [agentEvent('AuthorizationRequested', { ...write, nextTurn }, output.message)];
    case 'complete':
      return [agentEvent('TaskCompleted', write, output.message)];
    case 'fail': {
      const reason = output.invalid ? 'invalid-agent-response' : 'agent';
      return [agentEvent('TaskFailed', { ...write, reason }, output.message)];
    }
    case 'reject':
      return [agentEvent('TaskRejected', write, output.message)];
    case 'reply':
      return [agentEvent(state.acknowledged ? 'TaskCompleted' : 'ReplySent', write, output.message)];
    case 'canceled':
      return [agentEvent('TaskCanceled', { seq: write.seq, reason: 'agent' }, output.message)];
    case 'lost':
      return loseRun(state, output, write.seq);
  }
}

/** The events whose content is a message of the agent, if there is one. */
type AgentEventType = {
  [T in TaskEvent['type']]: 'messageId' extends keyof TaskEventFacts[T] ? T : never;
}[Exclude<TaskEvent['type'], 'MessageAccepted'>];

function agentEvent<T extends AgentEventType>(
  type: T,
  facts: TaskEventFacts[T],
  message: Message | undefined,
): TaskEvent {
  if (message === undefined) return { type, facts } as TaskEvent;
  const withMessage = { ...facts, messageId: message.messageId, bytes: encodedBytes(message) };
  return { type, facts: withMessage, content: { message } } as TaskEvent;
}

function artifactPublished(
  state: TaskState,
  taskId: string,
  { artifactId, artifact, append, last }: Extract<RunOutput, { type: 'artifact' }>,
  write: RunWrite,
): TaskEvent {
  const started = state.run?.artifacts ?? [];
  const invalid = (problem: string) =>
    new DomainError('InvalidAgentResponse', `invalid agent response: ${problem}`, { taskId });
  if (append && !started.includes(artifactId)) {
    throw invalid(`a chunk for artifact "${artifactId}", which this run has not started`);
  }
  if (!append && !started.includes(artifactId) && started.length >= BOUNDS.runArtifacts) {
    throw invalid(`more than ${BOUNDS.runArtifacts} artifacts in one run`);
  }
  return {
    type: 'ArtifactPublished',
    facts: { ...write, artifactId, append, last, parts: artifact.parts.length, bytes: encodedBytes(artifact) },
    content: { artifact },
  };
}
