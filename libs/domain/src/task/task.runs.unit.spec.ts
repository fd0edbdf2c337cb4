import { describe, expect, it } from '@jest/globals';
import { given } from '../../../../test/support/decider-spec.js';
import {
  agentMessage,
  CANCEL_REQUESTED,
  CLAIM,
  COMPLETED,
  FENCE,
  INPUT_REQUESTED,
  record,
  REQUEST,
  RETRY,
  RUNNING,
  WRITE,
} from '../../../../test/support/tasks.js';
import { BOUNDS } from '../bounds.js';
import type { RunOutput, TaskCommand } from './task.commands.js';
import { decide } from './task.decide.js';
import type { TaskEvent } from './task.events.js';
import { evolveAll } from './task.evolve.js';

const ARTIFACT: Extract<RunOutput, { type: 'artifact' }> = {
  type: 'artifact',
  artifactId: 'a',
  artifact: { parts: [{ text: 'x' }] },
  append: false,
  last: false,
};
const TIME = '2026-01-01T00:00:00.000Z';
const stateOf = (events: readonly TaskEvent[]) => evolveAll(null, events, TIME)!;
const message = agentMessage('text');

describe('RecordRun', () => {
  it('records each type of output as its event', () => {
    const outputs: [RunOutput, object][] = [
      [
        { type: 'status', message },
        { type: 'StatusReported', facts: { messageId: message.messageId }, content: { message } },
      ],
      [{ ...ARTIFACT }, { type: 'ArtifactPublished', facts: { artifactId: 'a', append: false } }],
      [
        { type: 'input-required', message },
        { type: 'InputRequested', facts: { nextTurn: false } },
      ],
      [{ type: 'auth-required', message }, { type: 'AuthorizationRequested' }],
      [{ type: 'complete' }, COMPLETED],
      [
        { type: 'fail', message },
        { type: 'TaskFailed', facts: { reason: 'agent' } },
      ],
      [
        { type: 'fail', invalid: true },
        { type: 'TaskFailed', facts: { reason: 'invalid-agent-response' } },
      ],
      [{ type: 'reject' }, { type: 'TaskRejected' }],
      [{ type: 'canceled' }, { type: 'TaskCanceled', facts: { reason: 'agent' } }],
    ];
    for (const [output, event] of outputs) {
      given(RUNNING)
        .when(record([output]))
        .then([event]);
    }
  });

  it('records a repeated write once, even if that write ended the run', () => {
    const reported: TaskEvent = { type: 'StatusReported', facts: WRITE };
    given([...RUNNING, reported])
      .when(record([{ type: 'status' }]))
      .then([]);
    given([...RUNNING, { ...COMPLETED, facts: { ...WRITE, seq: 0 } }])
      .when(record([{ type: 'complete' }], { seq: 0 }))
      .then([]);
  });

  // F15, F19
  it('fails with Fenced without the current lease and dispatcher generation, and after the end of the run', () => {
    for (const fence of [
      { ...FENCE, runId: 'other' },
      { ...FENCE, leaseGeneration: 0 },
      { ...FENCE, dispatcherGeneration: 2 },
    ]) {
      given(RUNNING)
        .when(record([{ type: 'status' }], { fence }))
        .then('Fenced');
    }
    given([...RUNNING, COMPLETED])
      .when(record([{ type: 'status' }], { seq: 2 }))
      .then('Fenced');
    given([...RUNNING, INPUT_REQUESTED])
      .when(record([{ type: 'status' }], { seq: 2 }))
      .then('Fenced');
  });

  it('fails with Fenced for output after the outcome of the run', () => {
    given(RUNNING)
      .when(record([{ type: 'complete' }, { type: 'status' }]))
      .then('Fenced');
  });

  it('records the upstream task, which the state keeps in later runs and turns', () => {
    const upstream = { taskId: 'theirs', contextId: 'their context', messageId: 'sent' };
    const attached: TaskEvent = { type: 'StatusReported', facts: { ...WRITE, upstream } };
    given(RUNNING)
      .when(record([{ type: 'status', message, upstream }]))
      .then([{ ...attached, content: { message } }]);
    const lost: TaskEvent = { type: 'RunLost', facts: { runId: 'run-1', reason: 'lease-expired' } };
    const reported: TaskEvent = { type: 'StatusReported', facts: WRITE };
    for (const later of [[], [reported], [lost], [INPUT_REQUESTED]]) {
      expect(given([...RUNNING, attached, ...later]).state?.upstream).toEqual(upstream);
    }
    expect(given(RUNNING).state).not.toHaveProperty('upstream');
    const newer = { ...upstream, messageId: 'sent later' };
    expect(
      given([...RUNNING, attached, { ...attached, facts: { ...WRITE, upstream: newer } }]).state?.upstream,
    ).toEqual(newer);
  });

  it('fails with InvalidAgentResponse for upstream ids that Postgres cannot store', () => {
    for (const taskId of ['', 'nul \0 in it', 'x'.repeat(BOUNDS.idLength + 1)]) {
      given(RUNNING)
        .when(record([{ type: 'status', upstream: { taskId, contextId: 'c', messageId: 'm' } }]))
        .then('InvalidAgentResponse');
    }
  });

  // F14
  it('fails with InvalidAgentResponse for a chunk of an artifact that the run has not started, and for an artifact without parts', () => {
    given(RUNNING)
      .when(record([{ ...ARTIFACT, append: true }]))
      .then('InvalidAgentResponse');
    given(RUNNING)
      .when(record([{ ...ARTIFACT, artifact: { parts: [] } }]))
      .then('InvalidAgentResponse');
    given(RUNNING)
      .when(record([{ ...ARTIFACT }, { ...ARTIFACT, append: true }]))
      .then([{ facts: { append: false } }, { facts: { append: true } }]);
  });

  it('fails with InvalidAgentResponse for artifact ids that Postgres cannot store', () => {
    for (const artifactId of ['', 'nul \0 in it', 'half \ud800 a pair', 'x'.repeat(BOUNDS.idLength + 1)]) {
      given(RUNNING)
        .when(record([{ ...ARTIFACT, artifactId }]))
        .then('InvalidAgentResponse');
    }
  });

  it('fails with InvalidAgentResponse for more artifacts than one run may start', () => {
    const outputs = Array.from({ length: BOUNDS.runArtifacts + 1 }, (_, index) => ({
      ...ARTIFACT,
      artifactId: `a${index}`,
    }));
    given(RUNNING).when(record(outputs)).then('InvalidAgentResponse');
  });

  it('starts the next turn immediately if the run has not read a message', () => {
    given([...RUNNING, { type: 'MessageAccepted', facts: { messageId: 'm', parts: 1, bytes: 1, request: REQUEST } }])
      .when(record([{ type: 'input-required', message }]))
      .then([{ type: 'InputRequested', facts: { nextTurn: true } }]);
  });

  it('cancels the task if its run requires input while a cancel is pending', () => {
    given([...RUNNING, CANCEL_REQUESTED])
      .when(record([{ type: 'input-required', message }]))
      .then([{ type: 'InputRequested' }, { type: 'TaskCanceled' }]);
  });
});

describe('a direct message response', () => {
  const reply = record([{ type: 'reply', message }], { seq: 2 });

  it('ends the task as a message if no client knows the task', () => {
    given(RUNNING)
      .when(reply)
      .then([{ type: 'ReplySent', content: { message } }]);
  });

  it('completes the task after a status or an artifact', () => {
    given([...RUNNING, { type: 'StatusReported', facts: WRITE }])
      .when(reply)
      .then([{ type: 'TaskCompleted', content: { message } }]);
    given([
      ...RUNNING,
      {
        type: 'ArtifactPublished',
        facts: { ...WRITE, artifactId: 'a', append: false, last: true, parts: 1, bytes: 1 },
      },
    ])
      .when(reply)
      .then([{ type: 'TaskCompleted' }]);
  });

  it('becomes a completion when a client already knows the task: it was acknowledged, or it cancels', () => {
    const [submitted, ...rest] = RUNNING as [Extract<TaskEvent, { type: 'TaskSubmitted' }>, ...TaskEvent[]];
    given([{ ...submitted, facts: { ...submitted.facts, acknowledged: true } }, ...rest])
      .when(reply)
      .then([{ type: 'TaskCompleted' }]);
    given([...RUNNING, CANCEL_REQUESTED])
      .when(reply)
      .then([{ type: 'TaskCompleted' }]);
  });
});

describe('LoseRun', () => {
  const loseRun = (changes: object = {}): TaskCommand => ({
    type: 'LoseRun',
    fence: FENCE,
    reason: 'lease-expired',
    retry: RETRY,
    ...changes,
  });

  it('retries under a new dispatcher generation, at the time of the retry', () => {
    given(RUNNING)
      .when(loseRun())
      .then([
        { type: 'RunLost', facts: { runId: 'run-1', reason: 'lease-expired' } },
        { type: 'RunRetried', facts: { dispatcherGeneration: 2, notBefore: RETRY.notBefore, counted: true } },
      ]);
  });

  // F20
  it('fails the task with a reason after the last attempt', () => {
    given(RUNNING)
      .when(loseRun({ retry: { ...RETRY, maxAttempts: 1 } }))
      .then([
        { type: 'RunLost' },
        {
          type: 'TaskFailed',
          facts: { reason: 'attempts-exhausted' },
          content: { message: { parts: [{ text: 'the only attempt was lost: lease-expired' }] } },
        },
      ]);
  });

  it('does not count the attempt of a released run', () => {
    given(RUNNING)
      .when(loseRun({ reason: 'released', retry: { ...RETRY, maxAttempts: 1 } }))
      .then([{ type: 'RunLost' }, { type: 'RunRetried', facts: { counted: false } }]);
  });

  it('records the cause, which the message of the last attempt names', () => {
    const cause = 'agent process exited with code 1';
    given(RUNNING)
      .when(loseRun({ reason: 'process-ended', cause, ownProcess: true, retry: { ...RETRY, maxAttempts: 1 } }))
      .then([
        { type: 'RunLost', facts: { reason: 'process-ended', cause, ownProcess: true } },
        { content: { message: { parts: [{ text: `the only attempt was lost: ${cause}` }] } } },
      ]);
  });

  it('does not count a run that ended because of another one, and retries it even after the last attempt', () => {
    given(RUNNING)
      .when(loseRun({ reason: 'process-ended', counted: false, retry: { ...RETRY, maxAttempts: 1 } }))
      .then([{ type: 'RunLost' }, { type: 'RunRetried', facts: { counted: false } }]);
  });

  it('gives the later runs of the turn a process of their own, and not those of the next turn', () => {
    const lost = decide(stateOf(RUNNING), 'task-1', loseRun({ reason: 'process-ended', ownProcess: true }), TIME);
    const retried = stateOf([...RUNNING, ...lost]);
    expect(retried.ownProcess).toBe(true);
    const again = decide(retried, 'task-1', { type: 'ClaimRun', claim: CLAIM }, TIME);
    const running = stateOf([...RUNNING, ...lost, ...again]);
    expect(running.ownProcess).toBe(true);
    const asked: TaskEvent = { type: 'InputRequested', facts: { runId: 'run-1', seq: 1, nextTurn: true } };
    expect(stateOf([...RUNNING, ...lost, ...again, asked]).ownProcess).toBeUndefined();
  });

  it('cancels the task if a cancel is pending', () => {
    given([...RUNNING, CANCEL_REQUESTED])
      .when(loseRun())
      .then([{ type: 'RunLost' }, { type: 'TaskCanceled', facts: { reason: 'lease' } }]);
  });

  it('fails with Fenced if a different run holds the task', () => {
    given(RUNNING)
      .when(loseRun({ fence: { ...FENCE, leaseGeneration: 2 } }))
      .then('Fenced');
  });
});
