import { describe, expect, it } from '@jest/globals';
import { evolve, isClientVisible, type RecordedEvent, type TaskEvent } from '@app/domain';
import { updatesOf } from '@app/wire';
import { NOW } from '../../../../test/support/decider-spec.js';
import { agentMessage, aMessage, CLAIM, REQUEST, RUNNING, SUBMITTED } from '../../../../test/support/tasks.js';

describe('a webhook delivery', () => {
  const run = { runId: CLAIM.runId, seq: 1 };
  const content = { messageId: 'm', bytes: 1 };
  const message = { message: agentMessage('x') };
  const inputRequested: TaskEvent = {
    type: 'InputRequested',
    facts: { ...run, ...content, nextTurn: false },
    content: message,
  };
  const followUp: TaskEvent = {
    type: 'MessageAccepted',
    facts: { messageId: 'follow-up', parts: 1, bytes: 1, request: REQUEST },
    content: { message: aMessage('follow-up') },
  };
  const streams: readonly (readonly TaskEvent[])[] = [
    [...RUNNING, inputRequested, followUp],
    [...RUNNING, followUp],
    [...RUNNING, { type: 'StatusReported', facts: { ...run, ...content }, content: message }],
    [
      ...RUNNING,
      {
        type: 'ArtifactPublished',
        facts: { ...run, artifactId: 'a', append: false, last: true, parts: 1, bytes: 1 },
        content: { artifact: { parts: [{ text: 'x' }] } },
      },
    ],
    [...RUNNING, { type: 'AuthorizationRequested', facts: { ...run, ...content, nextTurn: false }, content: message }],
    [...RUNNING, { type: 'ReplySent', facts: { ...run, ...content }, content: message }],
    [...RUNNING, { type: 'TaskCompleted', facts: run }],
    [...RUNNING, { type: 'TaskFailed', facts: { ...run, reason: 'agent' } }],
    [...RUNNING, { type: 'TaskRejected', facts: run }],
    [
      ...RUNNING,
      { type: 'CancelRequested', facts: { deadline: NOW } },
      { type: 'TaskCanceled', facts: { reason: 'agent' } },
    ],
    [
      ...RUNNING,
      { type: 'RunLost', facts: { runId: CLAIM.runId, reason: 'lease-expired' } },
      { type: 'RunRetried', facts: { attempt: 1, dispatcherGeneration: 2, notBefore: NOW, counted: true } },
    ],
    [
      ...SUBMITTED,
      {
        type: 'PushConfigSet',
        facts: { subject: 'alice', configId: 'c', protocolVersion: '1.0' },
        content: { push: { url: 'u' } },
      },
      { type: 'PushConfigDeleted', facts: { subject: 'alice', configId: 'c' } },
    ],
  ];

  it('exists for exactly the events that have an update', () => {
    for (const stream of streams) {
      let before = null;
      for (const [index, event] of stream.entries()) {
        const recorded = { ...event, version: index + 1, recordedAt: NOW } as RecordedEvent;
        const after = evolve(before, event, recorded);
        const updates = updatesOf(recorded, before, after, 'task');
        expect([event.type, updates.length > 0]).toEqual([event.type, isClientVisible(event, before, after)]);
        before = after;
      }
    }
  });
});
