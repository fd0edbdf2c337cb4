import { describe, expect, it } from '@jest/globals';
import { TaskFold, type Json, type Message, type RecordedEvent, type TaskEvent } from '@app/domain';
import { PROTOCOLS } from '../protocols.js';
import { type StreamUpdate, updatesOf } from './stream-update.js';
import { REQUEST } from '../../../../test/support/tasks.js';

const [v1, v03] = [PROTOCOLS['1.0'].codec, PROTOCOLS['0.3'].codec];

const agentMessage = (text: string): Message => ({ messageId: `m-${text}`, role: 'agent', parts: [{ text }] });
const run = { runId: 'run', seq: 1 };
const submitted: TaskEvent = {
  type: 'TaskSubmitted',
  facts: { contextId: 'ctx', ring: 'ring:a', owner: 'o', agent: 'demo', acknowledged: false },
};
const started: TaskEvent = {
  type: 'RunStarted',
  facts: { runId: 'run', attempt: 1, leaseGeneration: 1, dispatcherGeneration: 1, worker: 'w' },
};
const inputRequested = (nextTurn: boolean): TaskEvent => ({
  type: 'InputRequested',
  facts: { ...run, messageId: 'm-which', bytes: 1, nextTurn },
  content: { message: agentMessage('which') },
});
const accepted: TaskEvent = {
  type: 'MessageAccepted',
  facts: { messageId: 'u', parts: 1, bytes: 1, request: REQUEST },
  content: { message: { messageId: 'u', role: 'user', parts: [{ text: 'go' }] } },
};
const completed: TaskEvent = { type: 'TaskCompleted', facts: run };

/** Returns the updates of a stream for these events of one task. */
function updatesFor(events: readonly TaskEvent[]): StreamUpdate[] {
  const fold = new TaskFold('tenant', 't');
  return events.flatMap((event, index) => {
    const before = fold.state;
    const recorded = { ...event, version: index + 1, recordedAt: `2026-01-01T00:00:0${index}.000Z` } as RecordedEvent;
    fold.add(recorded);
    return fold.state === null ? [] : updatesOf(recorded, before, fold.state, 't');
  });
}

const lastUpdate = (events: readonly TaskEvent[]) => updatesFor(events).at(-1)!;
const both = (update: StreamUpdate): [Json, Json] => [v1.encodeUpdate(update), v03.encodeUpdate(update)];

describe('The updates of a stream', () => {
  it('contain each status once, and nothing for lost runs, retries and messages of the client', () => {
    const lost: TaskEvent = { type: 'RunLost', facts: { runId: 'run', reason: 'lease-expired' } };
    const retried: TaskEvent = {
      type: 'RunRetried',
      facts: { attempt: 1, dispatcherGeneration: 2, notBefore: '2026-01-01T00:00:00.000Z', counted: true },
    };
    const events = [submitted, accepted, started, accepted, lost, retried];
    expect(updatesFor(events).map((update) => update.type === 'status' && update.state.status)).toEqual([
      'submitted',
      'working',
    ]);
  });

  it('contain a status with its message in the shape of each version', () => {
    const [current, legacy] = both(lastUpdate([submitted, started, inputRequested(false)]));
    expect(current).toEqual({
      statusUpdate: {
        taskId: 't',
        contextId: 'ctx',
        status: {
          state: 'TASK_STATE_INPUT_REQUIRED',
          message: {
            messageId: 'm-which',
            taskId: 't',
            contextId: 'ctx',
            role: 'ROLE_AGENT',
            parts: [{ text: 'which' }],
          },
          timestamp: '2026-01-01T00:00:02.000Z',
        },
      },
    });
    expect(legacy).toEqual({
      kind: 'status-update',
      taskId: 't',
      contextId: 'ctx',
      status: {
        state: 'input-required',
        message: {
          kind: 'message',
          messageId: 'm-which',
          taskId: 't',
          contextId: 'ctx',
          role: 'agent',
          parts: [{ kind: 'text', text: 'which' }],
        },
        timestamp: '2026-01-01T00:00:02.000Z',
      },
      final: true,
    });
  });

  it('are final in v0.3 only if the task has ended or waits for its client', () => {
    const finals = updatesFor([submitted, started, completed]).map(
      (update) => (v03.encodeUpdate(update) as { final: boolean }).final,
    );
    expect(finals).toEqual([false, false, true]);
  });

  it('contain the question of a turn that continues immediately, which is not final', () => {
    expect(lastUpdate([submitted, started, inputRequested(true)])).toMatchObject({
      type: 'status',
      message: agentMessage('which'),
      state: { status: 'submitted' },
      final: false,
    });
  });

  it('contain the new status of a waiting task after a message of the client, without the message', () => {
    expect(lastUpdate([submitted, started, inputRequested(false), accepted])).toEqual(
      expect.objectContaining({
        type: 'status',
        state: expect.objectContaining({ status: 'submitted' }),
        final: false,
      }),
    );
  });

  it('contain an artifact chunk with its flags', () => {
    const chunk = (append: boolean, last: boolean): TaskEvent => ({
      type: 'ArtifactPublished',
      facts: { ...run, artifactId: 'a', append, last, parts: 1, bytes: 1 },
      content: { artifact: { name: 'out', parts: [{ text: 'x' }] } },
    });
    const artifact = { artifactId: 'a', name: 'out', parts: [{ text: 'x' }] };
    const [first, second] = updatesFor([submitted, started, chunk(false, false), chunk(true, true)]).slice(2);
    expect(v1.encodeUpdate(first!)).toEqual({ artifactUpdate: { taskId: 't', contextId: 'ctx', artifact } });
    expect(v1.encodeUpdate(second!)).toEqual({
      artifactUpdate: { taskId: 't', contextId: 'ctx', artifact, append: true, lastChunk: true },
    });
    expect(v03.encodeUpdate(second!)).toEqual({
      kind: 'artifact-update',
      taskId: 't',
      contextId: 'ctx',
      artifact: { ...artifact, parts: [{ kind: 'text', text: 'x' }] },
      append: true,
      lastChunk: true,
    });
  });

  it('contain a direct message response as one message without a task id', () => {
    const replied: TaskEvent = {
      type: 'ReplySent',
      facts: { ...run, messageId: 'm-hi', bytes: 1 },
      content: { message: agentMessage('hi') },
    };
    const [current, legacy] = both(lastUpdate([submitted, started, replied]));
    expect(current).toEqual({
      message: { messageId: 'm-hi', contextId: 'ctx', role: 'ROLE_AGENT', parts: [{ text: 'hi' }] },
    });
    expect(legacy).toEqual({
      kind: 'message',
      messageId: 'm-hi',
      contextId: 'ctx',
      role: 'agent',
      parts: [{ kind: 'text', text: 'hi' }],
    });
  });
});
