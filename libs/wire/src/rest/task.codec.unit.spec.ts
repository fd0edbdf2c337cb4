import { describe, expect, it } from '@jest/globals';
import { TaskFold, type ArtifactView, type Json, type Message, type TaskStatus, type TaskView } from '@app/domain';
import { rest } from './index.js';

const { decodeCreateTask, encodeAgent, encodeTask } = rest;

function viewOf(
  input: Json,
  change: Partial<TaskView> = {},
  status: TaskStatus = 'completed',
  metadata?: Json,
): TaskView {
  const { message } = decodeCreateTask({ input, ...(metadata === undefined ? {} : { metadata }) }, 'm');
  const fold = new TaskFold('tenant', 't');
  fold.add({
    type: 'TaskSubmitted',
    facts: { contextId: 'c', ring: 'ring:a', owner: 'o', agent: 'demo', acknowledged: true },
    version: 1,
    recordedAt: '2026-01-01T00:00:00.000Z',
    eventId: 'event-1',
  });
  const view = fold.view();
  return {
    ...view,
    state: { ...view.state, status, statusAt: '2026-01-01T00:00:05.000Z' },
    history: [message],
    ...change,
  };
}

const artifact = (artifactId: string, ...parts: ArtifactView['parts']): ArtifactView => ({ artifactId, parts });
const agentMessage = (text: string): Message => ({ messageId: 's', role: 'agent', parts: [{ text }] });

describe('The codec of the simple REST', () => {
  it.each([['text'], [''], [{ a: 1 }], [[1, 2]], [null], [7], [false]])(
    'encodes the input %j as it was decoded',
    (input) => {
      expect(encodeTask(viewOf(input))['input']).toEqual(input);
    },
  );

  it('decodes a send that does not wait, with the metadata in the message and in the request', () => {
    expect(decodeCreateTask({ input: 'hi', metadata: { ring: 'ring:b' }, extra: 1 }, 'key')).toEqual({
      message: { messageId: 'key', role: 'user', parts: [{ text: 'hi' }], metadata: { ring: 'ring:b' } },
      configuration: { returnImmediately: true },
      metadata: { ring: 'ring:b' },
    });
  });

  it.each([[{}], [[]], [null], ['text'], [{ input: 'x', metadata: 'y' }], [{ input: 'x', metadata: [] }]])(
    'rejects the body %j',
    (body) => {
      expect(() => decodeCreateTask(body, 'm')).toThrow(expect.objectContaining({ kind: 'InvalidParameters' }));
    },
  );

  it.each([
    ['submitted', 'pending'],
    ['working', 'running'],
    ['input-required', 'running'],
    ['auth-required', 'running'],
    ['completed', 'completed'],
    ['failed', 'failed'],
    ['rejected', 'failed'],
    ['canceled', 'cancelled'],
  ] as const)('encodes the status %s as %s', (status, expected) => {
    expect(encodeTask(viewOf('x', {}, status))['status']).toBe(expected);
  });

  it('encodes all fields of a task', () => {
    const view = viewOf('hi', { artifacts: [artifact('a', { text: 'HI' })] }, 'completed', { k: 1 });
    expect(encodeTask(view)).toEqual({
      id: 't',
      status: 'completed',
      input: 'hi',
      output: 'HI',
      metadata: { k: 1 },
      created_at: '2026-01-01T00:00:00.000Z',
      updated_at: '2026-01-01T00:00:05.000Z',
    });
  });

  it.each<[string, ArtifactView[], Json]>([
    ['a text as a string', [artifact('a', { text: 'x' })], 'x'],
    ['several texts as one string', [artifact('a', { text: 'x' }, { text: 'y' })], 'x\ny'],
    ['data unchanged', [artifact('a', { data: { n: [1] } })], { n: [1] }],
    [
      'a file as its part',
      [artifact('a', { url: 'https://x.test', mediaType: 'a/b' })],
      { url: 'https://x.test', mediaType: 'a/b' },
    ],
    ['mixed parts as a list', [artifact('a', { text: 'x' }, { data: 1 })], ['x', 1]],
    ['several artifacts as a list', [artifact('a', { text: 'x' }), artifact('b', { data: null })], ['x', null]],
  ])('outputs %s', (_, artifacts, output) => {
    expect(encodeTask(viewOf('in', { artifacts }))['output']).toEqual(output);
  });

  it('outputs the completion message of a task without artifacts', () => {
    expect(encodeTask(viewOf('x', { statusMessage: agentMessage('done') }))['output']).toBe('done');
    expect(encodeTask(viewOf('x', { statusMessage: agentMessage('busy') }, 'working'))).not.toHaveProperty('output');
    expect(encodeTask(viewOf('x'))).not.toHaveProperty('output');
  });

  it('encodes the reason of a failure or a rejection as the error', () => {
    expect(encodeTask(viewOf('x', { statusMessage: agentMessage('no disk') }, 'failed'))['error']).toBe('no disk');
    expect(encodeTask(viewOf('x', {}, 'rejected'))['error']).toBe('the task was rejected');
    expect(encodeTask(viewOf('x', { statusMessage: agentMessage('stopped') }, 'canceled'))).not.toHaveProperty('error');
  });

  it('encodes an agent with the ids of its skills', () => {
    const card = {
      name: 'demo',
      description: 'd',
      version: '1',
      skills: [{ id: 'upper', name: 'Upper', description: 'd', tags: [] }],
      inputModes: [],
      outputModes: [],
      interfaces: [],
      capabilities: { streaming: false, pushNotifications: false, extendedAgentCard: false },
      authentication: 'bearer' as const,
    };
    expect(encodeAgent(card)).toEqual({ name: 'demo', description: 'd', version: '1', capabilities: ['upper'] });
  });
});
