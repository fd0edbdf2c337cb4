import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '@app/domain';
import { sendParams } from '../../support/clients/rpc.js';
import { useServer } from '../../support/processes/spec-server.js';

const server = useServer();

describe('SendMessage', () => {
  // [A2A-SEND-1], [A2A-SEND-2], [A2A-TURN-3], [A2A-JSON-2]
  it('waits for the outcome, and returns the completed task with its artifact', async () => {
    const task = await server.caller.send('hello');
    expect(task).toMatchObject({
      id: expect.any(String),
      contextId: expect.any(String),
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ artifactId: 'text', name: 'Upper-cased text', parts: [{ text: 'HELLO' }] }],
      history: [{ role: 'ROLE_USER', parts: [{ text: 'hello' }], taskId: task.id, contextId: task.contextId }],
    });
    expect(task.status.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  // [A2A-SEND-3]
  it('returns immediately with returnImmediately, and the task continues', async () => {
    const task = await server.caller.start('later sleep 300ms');
    expect(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING']).toContain(task.status.state);
    const ended = await server.caller.untilState(task.id, 'TASK_STATE_COMPLETED');
    expect(ended.artifacts?.[0]?.parts).toEqual([{ text: 'LATER SLEEP 300MS' }]);
  });

  // [A2A-SEND-1]
  it('returns a direct message response if the agent creates no task', async () => {
    const { body } = await server.caller.call('SendMessage', sendParams('reply to me'));
    expect(body.result).toMatchObject({ message: { role: 'ROLE_AGENT', parts: [{ text: 'REPLY TO ME' }] } });
    expect(body.result).not.toHaveProperty('task');
  });

  it.each([
    ['fails', 'fail', 'TASK_STATE_FAILED', 'The text contains `fail`.'],
    ['rejects', 'reject', 'TASK_STATE_REJECTED', 'The text contains `reject`.'],
  ])('returns the task with the reason if the agent %s it', async (_what, text, state, reason) => {
    const task = await server.caller.send(text);
    expect(task.status).toMatchObject({ state, message: { parts: [{ text: reason }] } });
  });

  // [A2A-SEND-2], [A2A-TURN-1]
  it('returns when the agent requires input, and a second message continues the same task', async () => {
    const first = await server.caller.send('ask');
    expect(first.status).toMatchObject({
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: { parts: [{ text: 'What should I upper-case?' }] },
    });
    const second = await server.caller.send('this', { message: { taskId: first.id, contextId: first.contextId } });
    expect(second).toMatchObject({ id: first.id, status: { state: 'TASK_STATE_COMPLETED' } });
    expect(second.artifacts?.[0]?.parts).toEqual([{ text: 'THIS' }]);
    expect(second.history?.map(({ parts }) => parts[0]?.text)).toEqual(['ask', 'What should I upper-case?', 'this']);
  });

  // [A2A-HIST-1]
  it('returns at most historyLength messages', async () => {
    expect((await server.caller.send('one', { configuration: { historyLength: 0 } })).history).toBeUndefined();
    expect((await server.caller.send('two', { configuration: { historyLength: 5 } })).history).toHaveLength(1);
  });

  // F1, [A2A-SEND-4]
  it('returns the same task for an exact repetition', async () => {
    const params = sendParams('once');
    const [first, second] = [
      await server.caller.call('SendMessage', params),
      await server.caller.call('SendMessage', params),
    ];
    expect(second.body).toEqual(first.body);
  });

  // F4
  it('rejects a known messageId with different content, and does not change the task', async () => {
    const messageId = randomUUID();
    const task = await server.caller.send('first', { message: { messageId } });
    const changes: JsonObject[] = [
      { parts: [{ text: 'second' }] },
      { parts: [{ text: 'first' }], metadata: { more: true } },
      { parts: [{ text: 'first' }, { text: 'and more' }] },
    ];
    for (const change of changes) {
      const { body } = await server.caller.call('SendMessage', {
        message: { messageId, role: 'ROLE_USER', ...change },
      });
      expect(body.error).toMatchObject({ code: -32602, message: expect.stringContaining('message.messageId') });
    }
    expect(await server.caller.get(task.id)).toEqual(task);
  });

  // F5
  it('adds a message for a working task to its history, and starts no second run', async () => {
    const task = await server.caller.start('sleep 500ms');
    const during = await server.caller.send('meanwhile', { message: { taskId: task.id } });
    expect(during).toMatchObject({ id: task.id, status: { state: 'TASK_STATE_COMPLETED' } });
    const ofUser = during.history?.filter(({ role }) => role === 'ROLE_USER').map(({ parts }) => parts[0]?.text);
    expect(ofUser).toEqual(['sleep 500ms', 'meanwhile']);
    expect(during.metadata?.['acta/run']).toMatchObject({ attempt: 1 });
  });

  // F7, [A2A-SEND-6], [A2A-TURN-2]
  it('rejects an unknown taskId, and a contextId that is not the context of the task', async () => {
    const before = await server.caller.list();
    const { body } = await server.caller.call('SendMessage', sendParams('hi', { message: { taskId: randomUUID() } }));
    expect(body.error).toMatchObject({ code: -32001, message: 'task not found' });
    const waiting = await server.caller.send('ask');
    const wrong = sendParams('hi', { message: { taskId: waiting.id, contextId: randomUUID() } });
    expect((await server.caller.call('SendMessage', wrong)).body.error).toMatchObject({ code: -32602 });
    expect((await server.caller.list()).totalSize).toBe(before.totalSize + 1);
  });

  // [A2A-SEND-5]
  it('rejects a message for an ended task as an unsupported operation', async () => {
    const task = await server.caller.send('hello');
    const { body } = await server.caller.call('SendMessage', sendParams('more', { message: { taskId: task.id } }));
    expect(body.error).toMatchObject({ code: -32004 });
  });
});
