import { describe, expect, it } from '@jest/globals';
import { evolve, isTold, type RecordedEvent, type TaskEvent } from '@app/domain';
import { updatesOf } from '@app/wire';
import { AT } from '../../../test/support/decider-spec.js';
import { agentSays, aMessage, CLAIM, RUNNING, SUBMITTED } from '../../../test/support/tasks.js';
import { PushLanes } from './adaptive-concurrency.js';
import { PUSH_DEFAULTS, pushBackoff } from './webhook-sender.js';

describe('the wait between attempts', () => {
  it('doubles from one second to a quarter of an hour, half of it jitter', () => {
    const waits = (random: number) => [1, 2, 3, 10, 14].map((n) => pushBackoff(n, PUSH_DEFAULTS, random) / 1_000);
    expect(waits(0)).toEqual([0.5, 1, 2, 256, 450]);
    expect(waits(1)).toEqual([1, 2, 4, 512, 900]);
  });
});

describe('lanes', () => {
  it('give a place that never answers what it started with', () => {
    const lanes = new PushLanes(1, 8);
    expect(lanes.full()).toEqual([]);
    lanes.enter('silent');
    expect(lanes.full()).toEqual(['silent']);
    lanes.answered('silent', false);
    lanes.leave('silent');
    expect(lanes.full()).toEqual([]);
    lanes.enter('silent');
    expect(lanes.full()).toEqual(['silent']);
  });

  it('give more to a place while it answers, up to their width, and start anew after a failure', () => {
    const lanes = new PushLanes(1, 4);
    lanes.enter('good');
    for (let n = 0; n < 5; n += 1) lanes.answered('good', true);
    for (let n = 0; n < 2; n += 1) lanes.enter('good');
    expect(lanes.full()).toEqual([]);
    lanes.enter('good');
    expect(lanes.full()).toEqual(['good']);
    lanes.answered('good', false);
    for (let n = 0; n < 3; n += 1) lanes.leave('good');
    expect(lanes.full()).toEqual(['good']);
  });
});

describe('an event that is told', () => {
  const run = { runId: CLAIM.runId, seq: 1 };
  const said = { messageId: 'm', bytes: 1 };
  const message = { message: agentSays('x') };
  const asked: TaskEvent = { type: 'InputRequested', facts: { ...run, ...said, nextTurn: false }, content: message };
  const more: TaskEvent = {
    type: 'MessageAccepted',
    facts: { messageId: 'more', parts: 1, bytes: 1 },
    content: { message: aMessage('more') },
  };
  const streams: readonly (readonly TaskEvent[])[] = [
    [...RUNNING, asked, more],
    [...RUNNING, more],
    [...RUNNING, { type: 'StatusReported', facts: { ...run, ...said }, content: message }],
    [
      ...RUNNING,
      {
        type: 'ArtifactPublished',
        facts: { ...run, artifactId: 'a', append: false, last: true, parts: 1, bytes: 1 },
        content: { artifact: { parts: [{ text: 'x' }] } },
      },
    ],
    [...RUNNING, { type: 'AuthorizationRequested', facts: { ...run, ...said, nextTurn: false }, content: message }],
    [...RUNNING, { type: 'ReplySent', facts: { ...run, ...said }, content: message }],
    [...RUNNING, { type: 'TaskCompleted', facts: run }],
    [...RUNNING, { type: 'TaskFailed', facts: { ...run, reason: 'agent' } }],
    [...RUNNING, { type: 'TaskRejected', facts: run }],
    [
      ...RUNNING,
      { type: 'CancelRequested', facts: { deadline: AT } },
      { type: 'TaskCanceled', facts: { reason: 'agent' } },
    ],
    [
      ...RUNNING,
      { type: 'RunLost', facts: { runId: CLAIM.runId, reason: 'lease-expired' } },
      { type: 'RunRetried', facts: { attempt: 1, dispatcherGeneration: 2, notBefore: AT, counted: true } },
    ],
    [
      ...SUBMITTED,
      { type: 'PushConfigSet', facts: { configId: 'c', protocolVersion: '1.0' }, content: { push: { url: 'u' } } },
      { type: 'PushConfigDeleted', facts: { configId: 'c' } },
    ],
  ];

  it('is one that has an update, and no other', () => {
    for (const stream of streams) {
      let before = null;
      for (const [at, event] of stream.entries()) {
        const recorded = { ...event, version: at + 1, recordedAt: AT } as RecordedEvent;
        const after = evolve(before, event, recorded);
        const updates = updatesOf(recorded, before, after, 'task');
        expect([event.type, updates.length > 0]).toEqual([event.type, isTold(event, before, after)]);
        before = after;
      }
    }
  });
});
