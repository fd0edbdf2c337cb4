import { describe, it } from '@jest/globals';
import { given } from '../../../../test/support/decider-spec.js';
import {
  addMessage,
  aMessage,
  CLAIM,
  COMPLETED,
  DEADLINE,
  INPUT_REQUESTED,
  REQUEST,
  RUNNING,
  STARTED,
  SUBMIT,
  SUBMITTED,
} from '../../../../test/support/tasks.js';
import { BOUNDS } from '../bounds.js';
import type { TaskCommand } from './task.commands.js';
import type { TaskEvent } from './task.events.js';

const CANCEL: TaskCommand = { type: 'CancelTask', policy: 'fence', deadline: DEADLINE };
const add = (text: string): TaskCommand => addMessage(aMessage(text));

describe('SubmitTask', () => {
  it('records the task and its message', () => {
    given([])
      .when(SUBMIT)
      .then([
        { type: 'TaskSubmitted', facts: { owner: 'alice', ring: 'ring:dev', agent: 'demo', acknowledged: false } },
        { type: 'MessageAccepted', facts: { parts: 1 }, content: { message: SUBMIT.message } },
      ]);
  });

  it('also starts the run if a worker claims it', () => {
    given([])
      .when({ ...SUBMIT, claim: CLAIM })
      .then([{ type: 'TaskSubmitted' }, { type: 'MessageAccepted' }, STARTED]);
  });
});

describe('a command to a missing task', () => {
  it('fails with TaskNotFound', () => {
    given([]).when(add('x')).then('TaskNotFound');
    given([]).when(CANCEL).then('TaskNotFound');
    given([]).when({ type: 'ClaimRun', claim: CLAIM }).then('TaskNotFound');
  });
});

describe('AddMessage', () => {
  it('adds the message to the history of a working task and starts no second run', () => {
    given(RUNNING)
      .when(addMessage(aMessage('more'), { claim: { runId: 'run-2', worker: 'w' } }))
      .then([{ type: 'MessageAccepted' }]);
  });

  it('starts the next turn of a task that requires input, and increments the dispatcher generation', () => {
    given([...RUNNING, INPUT_REQUESTED])
      .when(addMessage(aMessage('answer'), { claim: { runId: 'run-2', worker: 'w' } }))
      .then([
        { type: 'MessageAccepted' },
        { type: 'RunStarted', facts: { runId: 'run-2', attempt: 1, leaseGeneration: 2, dispatcherGeneration: 2 } },
      ]);
  });

  it('fails with TaskEnded for an ended task', () => {
    given([...RUNNING, COMPLETED])
      .when(add('late'))
      .then('TaskEnded');
  });

  it('fails with InvalidParameters if the history has the maximum number of messages or bytes', () => {
    const facts = { messageId: 'm', parts: 1, bytes: 10, request: REQUEST };
    const accepted: TaskEvent = { type: 'MessageAccepted', facts };
    const many = Array.from({ length: BOUNDS.clientMessages - 2 }, () => accepted);
    given([...RUNNING, ...many])
      .when(add('the hundredth'))
      .then([{ type: 'MessageAccepted' }]);
    given([...RUNNING, ...many, accepted])
      .when(add('one too many'))
      .then('InvalidParameters');
    const large: TaskEvent = {
      type: 'MessageAccepted',
      facts: { ...facts, bytes: BOUNDS.clientHistoryBytes },
    };
    given([...RUNNING, large])
      .when(add('x'))
      .then('InvalidParameters');
  });

  it.each([
    ['in the future', '2026-01-01T00:01:00.000Z'],
    // The clock of this process may be ahead. Only the queue compares the time, with the database time.
    ['in the past', '2025-12-31T23:59:00.000Z'],
  ])('does not shorten the wait of a retry whose time is %s', (_when, notBefore) => {
    given([
      ...RUNNING,
      { type: 'RunLost', facts: { runId: 'run-1', reason: 'lease-expired' } },
      { type: 'RunRetried', facts: { attempt: 1, dispatcherGeneration: 2, notBefore, counted: true } },
    ])
      .when(addMessage(aMessage('hurry'), { claim: { runId: 'run-2', worker: 'w' } }))
      .then([{ type: 'MessageAccepted' }]);
  });
});

describe('ClaimRun', () => {
  it('starts the run of a queued task once', () => {
    given(SUBMITTED).when({ type: 'ClaimRun', claim: CLAIM }).then([STARTED]);
    given(RUNNING).when({ type: 'ClaimRun', claim: CLAIM }).then([]);
    given([...RUNNING, INPUT_REQUESTED])
      .when({ type: 'ClaimRun', claim: CLAIM })
      .then([]);
    given([...RUNNING, COMPLETED])
      .when({ type: 'ClaimRun', claim: CLAIM })
      .then([]);
  });
});

describe('ResumeTask', () => {
  const AUTHORIZATION_REQUESTED: TaskEvent = { ...INPUT_REQUESTED, type: 'AuthorizationRequested' };
  const MESSAGE = SUBMITTED[1]!;
  const started = (turn: number): TaskEvent => ({
    type: 'RunStarted',
    facts: { ...CLAIM, attempt: 1, leaseGeneration: turn, dispatcherGeneration: turn },
  });

  it('starts the next turn of a task that requires an authorization, without a message', () => {
    given([...RUNNING, AUTHORIZATION_REQUESTED])
      .when({ type: 'ResumeTask' })
      .then([{ type: 'TaskResumed', facts: { dispatcherGeneration: 2 } }]);
    given([...RUNNING, AUTHORIZATION_REQUESTED])
      .when({ type: 'ResumeTask', claim: CLAIM })
      .then([{ type: 'TaskResumed' }, { type: 'RunStarted', facts: { dispatcherGeneration: 2, leaseGeneration: 2 } }]);
  });

  it('adds nothing if it is repeated after the end of the turn that it started', () => {
    const resumed: TaskEvent[] = [
      ...RUNNING,
      AUTHORIZATION_REQUESTED,
      { type: 'TaskResumed', facts: { dispatcherGeneration: 2 } },
      started(2),
    ];
    given([...resumed, COMPLETED])
      .when({ type: 'ResumeTask' })
      .then([]);
    // A message started the turn that ended, so this resume is not a repeat.
    given([...resumed, INPUT_REQUESTED, MESSAGE, started(3), COMPLETED])
      .when({ type: 'ResumeTask' })
      .then('TaskEnded');
  });

  it('adds nothing to an active task, and fails for a task that requires input or has ended', () => {
    given(RUNNING).when({ type: 'ResumeTask' }).then([]);
    given([...RUNNING, INPUT_REQUESTED])
      .when({ type: 'ResumeTask' })
      .then('InvalidParameters');
    given([...RUNNING, COMPLETED])
      .when({ type: 'ResumeTask' })
      .then('TaskEnded');
  });
});
