import { describe, expect, it } from '@jest/globals';
import { TaskFold, type Json, type Message, type RecordedEvent, type TaskEvent } from '@app/domain';
import { updatesOf, v03, v1, type StreamUpdate } from './index.js';

const said = (text: string): Message => ({ messageId: `m-${text}`, role: 'agent', parts: [{ text }] });
const run = { runId: 'run', seq: 1 };
const submitted: TaskEvent = {
  type: 'TaskSubmitted',
  facts: { contextId: 'ctx', ring: 'ring:a', owner: 'o', agent: 'demo', acknowledged: false },
};
const started: TaskEvent = {
  type: 'RunStarted',
  facts: { runId: 'run', attempt: 1, leaseGeneration: 1, dispatcherGeneration: 1, worker: 'w' },
};
const asked = (nextTurn: boolean): TaskEvent => ({
  type: 'InputRequested',
  facts: { ...run, messageId: 'm-which', bytes: 1, nextTurn },
  content: { message: said('which') },
});
const accepted: TaskEvent = {
  type: 'MessageAccepted',
  facts: { messageId: 'u', parts: 1, bytes: 1 },
  content: { message: { messageId: 'u', role: 'user', parts: [{ text: 'go' }] } },
};
const completed: TaskEvent = { type: 'TaskCompleted', facts: run };

/** What a stream tells of these events, after the ones before it. */
function told(events: readonly TaskEvent[]): StreamUpdate[] {
  const fold = new TaskFold('tenant', 't');
  return events.flatMap((event, at) => {
    const before = fold.state;
    const recorded = { ...event, version: at + 1, recordedAt: `2026-01-01T00:00:0${at}.000Z` } as RecordedEvent;
    fold.add(recorded);
    return fold.state === null ? [] : updatesOf(recorded, before, fold.state, 't');
  });
}

const last = (events: readonly TaskEvent[]) => told(events).at(-1)!;
const both = (update: StreamUpdate): [Json, Json] => [v1.codec.encodeUpdate(update), v03.codec.encodeUpdate(update)];

describe('what a stream tells', () => {
  it('tells each status once, and nothing of claims, retries and messages of the client', () => {
    const lost: TaskEvent = { type: 'RunLost', facts: { runId: 'run', reason: 'lease-expired' } };
    const retried: TaskEvent = {
      type: 'RunRetried',
      facts: { attempt: 1, dispatcherGeneration: 2, notBefore: '2026-01-01T00:00:00.000Z', counted: true },
    };
    const events = [submitted, accepted, started, accepted, lost, retried];
    expect(told(events).map((update) => update.type === 'status' && update.state.status)).toEqual([
      'submitted',
      'working',
    ]);
  });

  it('tells a status with its message in the words of both versions', () => {
    const [current, old] = both(last([submitted, started, asked(false)]));
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
    expect(old).toEqual({
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

  it('sets final in v0.3 exactly where the task ended or waits', () => {
    const finals = told([submitted, started, completed]).map(
      (update) => (v03.codec.encodeUpdate(update) as { final: boolean }).final,
    );
    expect(finals).toEqual([false, false, true]);
  });

  it('tells the question of a turn that goes on at once, and is not final', () => {
    expect(last([submitted, started, asked(true)])).toMatchObject({
      type: 'status',
      message: said('which'),
      state: { status: 'submitted' },
      final: false,
    });
  });

  it('tells that an answer moved a waiting task on, without the answer', () => {
    expect(last([submitted, started, asked(false), accepted])).toEqual(
      expect.objectContaining({
        type: 'status',
        state: expect.objectContaining({ status: 'submitted' }),
        final: false,
      }),
    );
  });

  it('tells an artifact chunk with its flags', () => {
    const chunk = (append: boolean, end: boolean): TaskEvent => ({
      type: 'ArtifactPublished',
      facts: { ...run, artifactId: 'a', append, last: end, parts: 1, bytes: 1 },
      content: { artifact: { name: 'out', parts: [{ text: 'x' }] } },
    });
    const artifact = { artifactId: 'a', name: 'out', parts: [{ text: 'x' }] };
    const [first, second] = told([submitted, started, chunk(false, false), chunk(true, true)]).slice(2);
    expect(v1.codec.encodeUpdate(first!)).toEqual({ artifactUpdate: { taskId: 't', contextId: 'ctx', artifact } });
    expect(v1.codec.encodeUpdate(second!)).toEqual({
      artifactUpdate: { taskId: 't', contextId: 'ctx', artifact, append: true, lastChunk: true },
    });
    expect(v03.codec.encodeUpdate(second!)).toEqual({
      kind: 'artifact-update',
      taskId: 't',
      contextId: 'ctx',
      artifact: { ...artifact, parts: [{ kind: 'text', text: 'x' }] },
      append: true,
      lastChunk: true,
    });
  });

  it('tells a bare reply as one message that belongs to no task', () => {
    const replied: TaskEvent = {
      type: 'ReplySent',
      facts: { ...run, messageId: 'm-hi', bytes: 1 },
      content: { message: said('hi') },
    };
    const [current, old] = both(last([submitted, started, replied]));
    expect(current).toEqual({
      message: { messageId: 'm-hi', contextId: 'ctx', role: 'ROLE_AGENT', parts: [{ text: 'hi' }] },
    });
    expect(old).toEqual({
      kind: 'message',
      messageId: 'm-hi',
      contextId: 'ctx',
      role: 'agent',
      parts: [{ kind: 'text', text: 'hi' }],
    });
  });
});
