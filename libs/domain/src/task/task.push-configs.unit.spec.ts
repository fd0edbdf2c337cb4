import { describe, expect, it } from '@jest/globals';
import { given } from '../../../../test/support/decider-spec.js';
import { aMessage, CLAIM, record, RUNNING, SUBMIT, SUBMITTED } from '../../../../test/support/tasks.js';
import { BOUNDS } from '../bounds.js';
import type { TaskEvent } from './task.events.js';

const target = (configId: string) => ({ configId, protocolVersion: '1.0', url: 'https://example.com/hook' });
const set = (configId: string): TaskEvent => ({
  type: 'PushConfigSet',
  facts: { configId, protocolVersion: '1.0' },
  content: { push: { url: 'https://example.com/hook' } },
});
const ended: readonly TaskEvent[] = [...RUNNING, { type: 'TaskCompleted', facts: { runId: CLAIM.runId, seq: 1 } }];

describe('webhooks of a task', () => {
  it('are there before the message that they come with, and before its run', () => {
    given([])
      .when({ ...SUBMIT, push: target('c'), claim: CLAIM })
      .then([{ type: 'TaskSubmitted' }, set('c'), { type: 'MessageAccepted' }, { type: 'RunStarted' }]);
    given(SUBMITTED)
      .when({ type: 'AddMessage', message: aMessage('more'), push: target('c') })
      .then([set('c'), { type: 'MessageAccepted' }]);
  });

  it('can be set and deleted when the task has ended', () => {
    given(ended)
      .when({ type: 'SetPushConfig', push: target('c') })
      .then([set('c')]);
    given([...ended, set('c')])
      .when({ type: 'DeletePushConfig', configId: 'c' })
      .then([{ type: 'PushConfigDeleted', facts: { configId: 'c' } }]);
  });

  it('can be deleted any number of times', () => {
    given([...RUNNING, set('c'), { type: 'PushConfigDeleted', facts: { configId: 'c' } }])
      .when({ type: 'DeletePushConfig', configId: 'c' })
      .then([]);
    given(RUNNING).when({ type: 'DeletePushConfig', configId: 'never' }).then([]);
  });

  it('are replaced under their id, and limited in number', () => {
    const full = [...RUNNING, ...Array.from({ length: BOUNDS.pushConfigs }, (_, n) => set(`c${n}`))];
    given(full)
      .when({ type: 'SetPushConfig', push: target('one more') })
      .then('InvalidParameters');
    given(full)
      .when({ type: 'SetPushConfig', push: target('c3') })
      .then([set('c3')]);
    given(full)
      .when({ type: 'AddMessage', message: aMessage('more'), push: target('one more') })
      .then('InvalidParameters');
  });

  it('are known by their ids alone, and leave nothing in the state of a task without any', () => {
    expect(given([...RUNNING, set('a'), set('b'), set('a')]).state).toMatchObject({ pushConfigs: ['b', 'a'] });
    const without = given([...RUNNING, set('a'), { type: 'PushConfigDeleted', facts: { configId: 'a' } }]).state;
    expect(without).not.toHaveProperty('pushConfigs');
  });

  it('were told of the work, so that a bare reply becomes its completion', () => {
    given([...RUNNING, set('c')])
      .when(record([{ type: 'reply', message: { ...aMessage('bye'), role: 'agent' } }]))
      .then([{ type: 'TaskCompleted' }]);
  });
});
