import { describe, it } from '@jest/globals';
import { given } from '../../../../test/support/decider-spec.js';
import {
  CANCEL_REQUESTED,
  COMPLETED,
  DEADLINE,
  FENCE,
  INPUT_REQUESTED,
  RUNNING,
  SUBMITTED,
} from '../../../../test/support/tasks.js';
import type { TaskCommand } from './task.commands.js';

const CANCEL: TaskCommand = { type: 'CancelTask', policy: 'fence', deadline: DEADLINE };

describe('CancelTask', () => {
  it('cancels a task without an active run immediately', () => {
    given(SUBMITTED)
      .when(CANCEL)
      .then([{ type: 'TaskCanceled', facts: { reason: 'idle' } }]);
    given([...RUNNING, INPUT_REQUESTED])
      .when(CANCEL)
      .then([{ type: 'TaskCanceled', facts: { reason: 'idle' } }]);
  });

  it('requests the cancel from the holder of an active run once', () => {
    given(RUNNING)
      .when(CANCEL)
      .then([{ type: 'CancelRequested', facts: { deadline: DEADLINE } }]);
    given([...RUNNING, CANCEL_REQUESTED])
      .when(CANCEL)
      .then([]);
  });

  it('adds nothing to a canceled task, and fails with TaskNotCancelable for other ended tasks', () => {
    given([...SUBMITTED, { type: 'TaskCanceled', facts: { reason: 'idle' } }])
      .when(CANCEL)
      .then([]);
    given([...RUNNING, COMPLETED])
      .when(CANCEL)
      .then('TaskNotCancelable');
  });

  it('fails with TaskNotCancelable under holder-only unless the caller holds the run', () => {
    const command = { type: 'CancelTask', policy: 'holder-only', deadline: DEADLINE } as const;
    const holder = { ...FENCE, worker: 'worker-1' };
    given(RUNNING).when(command).then('TaskNotCancelable');
    for (const wrong of [
      { worker: 'worker-2' },
      { runId: 'run-2' },
      { leaseGeneration: 2 },
      { dispatcherGeneration: 2 },
    ]) {
      given(RUNNING)
        .when({ ...command, holder: { ...holder, ...wrong } })
        .then('TaskNotCancelable');
    }
    given(RUNNING)
      .when({ ...command, holder })
      .then([{ type: 'TaskCanceled', facts: { reason: 'holder' } }]);
    given(SUBMITTED)
      .when(command)
      .then([{ type: 'TaskCanceled', facts: { reason: 'idle' } }]);
  });
});

describe('EnforceCancel', () => {
  const enforceCancel = (now: string): TaskCommand => ({ type: 'EnforceCancel', now });

  it('cancels the task at the deadline, and not before', () => {
    given([...RUNNING, CANCEL_REQUESTED])
      .when(enforceCancel(DEADLINE))
      .then([{ type: 'TaskCanceled', facts: { reason: 'deadline' } }]);
    given([...RUNNING, CANCEL_REQUESTED])
      .when(enforceCancel('2026-01-01T00:00:04.999Z'))
      .then([]);
  });

  it('adds nothing to an ended task, or to a task without a pending cancel', () => {
    given([...RUNNING, CANCEL_REQUESTED, COMPLETED])
      .when(enforceCancel(DEADLINE))
      .then([]);
    given(RUNNING).when(enforceCancel(DEADLINE)).then([]);
  });
});
