import { describe, expect, it } from '@jest/globals';
import { given } from '../../../../test/support/decider-spec.js';
import {
  addMessage,
  aMessage,
  CLAIM,
  COMPLETED,
  record,
  RUNNING,
  SUBMIT,
  SUBMITTED,
} from '../../../../test/support/tasks.js';
import { BOUNDS } from '../bounds.js';
import type { TaskEvent } from './task.events.js';

const ALICE = { subject: 'alice' };
const target = (configId: string, subject = 'alice') => ({
  subject,
  configId,
  protocolVersion: '1.0',
  url: 'https://example.com/hook',
});
const pushConfigSet = (configId: string, subject = 'alice'): TaskEvent => ({
  type: 'PushConfigSet',
  facts: { subject, configId, protocolVersion: '1.0' },
  content: { push: { url: 'https://example.com/hook' } },
});
const ENDED: readonly TaskEvent[] = [...RUNNING, COMPLETED];

describe('a push configuration of a task', () => {
  it('is recorded before the message of the same send, and before its run', () => {
    given([])
      .when({ ...SUBMIT, push: target('c'), claim: CLAIM })
      .then([{ type: 'TaskSubmitted' }, pushConfigSet('c'), { type: 'MessageAccepted' }, { type: 'RunStarted' }]);
    given(SUBMITTED)
      .when(addMessage(aMessage('more'), { push: target('c') }))
      .then([pushConfigSet('c'), { type: 'MessageAccepted' }]);
  });

  it('can be set and deleted after the end of the task', () => {
    given(ENDED)
      .when({ type: 'SetPushConfig', push: target('c') })
      .then([pushConfigSet('c')]);
    given([...ENDED, pushConfigSet('c')])
      .when({ type: 'DeletePushConfig', ...ALICE, configId: 'c' })
      .then([{ type: 'PushConfigDeleted', facts: { ...ALICE, configId: 'c' } }]);
  });

  it('can be deleted repeatedly', () => {
    given([...RUNNING, pushConfigSet('c'), { type: 'PushConfigDeleted', facts: { ...ALICE, configId: 'c' } }])
      .when({ type: 'DeletePushConfig', ...ALICE, configId: 'c' })
      .then([]);
    given(RUNNING)
      .when({ type: 'DeletePushConfig', ...ALICE, configId: 'never' })
      .then([]);
  });

  it('is retired with a reason, and can be set again with the same id', () => {
    const retired: TaskEvent = { type: 'PushConfigDeleted', facts: { ...ALICE, configId: 'c', reason: 'status-410' } };
    given([...ENDED, pushConfigSet('c')])
      .when({ type: 'DeletePushConfig', ...ALICE, configId: 'c', reason: 'status-410' })
      .then([retired]);
    given([...ENDED, pushConfigSet('c'), retired])
      .when({ type: 'DeletePushConfig', ...ALICE, configId: 'c', reason: 'status-410' })
      .then([]);
    const revived = given([...ENDED, pushConfigSet('c'), retired]).when({ type: 'SetPushConfig', push: target('c') });
    revived.then([pushConfigSet('c')]);
    expect(given([...ENDED, pushConfigSet('c'), retired, pushConfigSet('c')]).state).toMatchObject({
      pushConfigs: [{ ...ALICE, configId: 'c' }],
    });
  });

  it('replaces the configuration with the same id, and is rejected above the maximum number', () => {
    const full = [...RUNNING, ...Array.from({ length: BOUNDS.pushConfigs }, (_, index) => pushConfigSet(`c${index}`))];
    given(full)
      .when({ type: 'SetPushConfig', push: target('one more') })
      .then('InvalidParameters');
    given(full)
      .when({ type: 'SetPushConfig', push: target('c3') })
      .then([pushConfigSet('c3')]);
    given(full)
      .when(addMessage(aMessage('more'), { push: target('one more') }))
      .then('InvalidParameters');
  });

  it('belongs to its user: neither a set nor a delete nor the limit of others affects it', () => {
    const both = [...RUNNING, pushConfigSet('c'), pushConfigSet('c', 'root')];
    const webhooks = [
      { ...ALICE, configId: 'c' },
      { subject: 'root', configId: 'c' },
    ];
    expect(given(both).state).toMatchObject({ pushConfigs: webhooks });
    const deleted: TaskEvent = { type: 'PushConfigDeleted', facts: { subject: 'root', configId: 'c' } };
    given(both).when({ type: 'DeletePushConfig', subject: 'root', configId: 'c' }).then([deleted]);
    expect(given([...both, deleted]).state).toMatchObject({ pushConfigs: [webhooks[0]] });
    given([...RUNNING, ...Array.from({ length: BOUNDS.pushConfigs }, (_, index) => pushConfigSet(`c${index}`))])
      .when({ type: 'SetPushConfig', push: target('one more', 'root') })
      .then([pushConfigSet('one more', 'root')]);
  });

  it('is in the state by its user and id alone, and the state of a task without any has no list', () => {
    expect(given([...RUNNING, pushConfigSet('a'), pushConfigSet('b'), pushConfigSet('a')]).state).toMatchObject({
      pushConfigs: [
        { ...ALICE, configId: 'b' },
        { ...ALICE, configId: 'a' },
      ],
    });
    const without = given([
      ...RUNNING,
      pushConfigSet('a'),
      { type: 'PushConfigDeleted', facts: { ...ALICE, configId: 'a' } },
    ]).state;
    expect(without).not.toHaveProperty('pushConfigs');
  });

  it('turns a direct message response into a completion, because its webhook was notified of the work', () => {
    given([...RUNNING, pushConfigSet('c')])
      .when(record([{ type: 'reply', message: { ...aMessage('bye'), role: 'agent' } }]))
      .then([{ type: 'TaskCompleted' }]);
  });
});
