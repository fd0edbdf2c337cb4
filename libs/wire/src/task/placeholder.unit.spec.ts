import { describe, expect, it } from '@jest/globals';
import type { TaskState, TaskView, ViewPart } from '@app/domain';
import { native, PROTOCOLS, rest } from '../index.js';

const [v1, v03] = [PROTOCOLS['1.0'].codec, PROTOCOLS['0.3'].codec];

const placeholder = (changes: Partial<ViewPart['placeholder']> = {}): ViewPart => ({
  placeholder: { reason: 'too-large', taskId: 'task 1', ...changes },
});

const state: TaskState = {
  contextId: 'context',
  ring: 'ring:dev',
  owner: 'alice',
  agent: 'demo',
  status: 'completed',
  statusAt: '2026-01-01T00:00:00.000Z',
  statusMessage: 3,
  createdAt: '2026-01-01T00:00:00.000Z',
  queuedBy: 'event-2',
  recordedAt: '2026-01-01T00:00:00.000Z',
  version: 3,
  leaseGeneration: 1,
  dispatcherGeneration: 1,
  attempts: 1,
  notBefore: null,
  run: null,
  acknowledged: true,
  clientMessages: { count: 1, bytes: 1, lastVersion: 2 },
  cancelDeadline: null,
};

const view: TaskView = {
  tenantId: 'acme',
  taskId: 'task 1',
  state,
  statusMessage: { messageId: 'm2', role: 'agent', parts: [placeholder()] },
  history: [{ messageId: 'm1', role: 'user', parts: [placeholder({ reason: 'erased' })] }],
  artifacts: [{ artifactId: 'a/b', parts: [{ text: 'x' }, placeholder({ artifactId: 'a/b', parts: 2 })] }],
};

const metadata = { 'acta/placeholder': true };
const tooLarge = { reason: 'too-large', path: '/api/tasks/task%201/messages' };
const erased = { reason: 'erased', path: '/api/tasks/task%201/messages' };
const parts = { reason: 'too-large', path: '/api/tasks/task%201/deliveries/a%2Fb/parts', parts: 2 };

/** The JSON that a client receives. */
const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe('A placeholder of a view', () => {
  it('is encoded as a data part with reason, path and number of parts in A2A 1.0', () => {
    expect(json(v1.encodeUpdate({ type: 'task', view }))).toMatchObject({
      task: {
        status: { message: { parts: [{ data: tooLarge, metadata }] } },
        history: [{ parts: [{ data: erased, metadata }] }],
        artifacts: [{ parts: [{ text: 'x' }, { data: parts, metadata }] }],
      },
    });
  });

  it('is encoded as the same data part in both bindings of A2A 0.3', () => {
    expect(json(v03.encodeUpdate({ type: 'task', view }))).toMatchObject({
      status: { message: { parts: [{ kind: 'data', data: tooLarge, metadata }] } },
      history: [{ parts: [{ kind: 'data', data: erased, metadata }] }],
      artifacts: [{ parts: [{ kind: 'text' }, { kind: 'data', data: parts, metadata }] }],
    });
    expect(json(v03.http.encodeUpdate({ type: 'task', view }))).toMatchObject({
      task: {
        status: { message: { content: [{ data: { data: tooLarge }, metadata }] } },
        history: [{ content: [{ data: { data: erased }, metadata }] }],
        artifacts: [{ parts: [{ text: 'x' }, { data: { data: parts }, metadata }] }],
      },
    });
  });

  it('is encoded as the data without a part in the simple REST', () => {
    expect(json(rest.encodeTask(view))).toMatchObject({ input: erased, output: ['x', parts] });
  });

  it('is encoded as the same data part in the native API', () => {
    expect(json(native.encodeTask(view))).toMatchObject({
      statusMessage: { parts: [{ data: tooLarge, metadata }] },
      history: [{ parts: [{ data: erased, metadata }] }],
      artifacts: [{ parts: [{ text: 'x' }, { data: parts, metadata }] }],
    });
  });
});
