import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '@app/domain';
import { call, eventually, V1Caller, type WireTask } from '../../support/clients/rpc.js';
import { type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';

let server: RunningServer;

beforeAll(async () => {
  server = await startServer();
}, 90_000);
afterAll(() => server?.stop());

const v03 = async (method: string, params?: JsonObject) =>
  (await call(server.url, TOKEN, '0.3', method, params)).body as { result?: WireTask; error?: { code: number } };

const saying = (text: string, more: JsonObject = {}): JsonObject => ({
  message: { kind: 'message', messageId: randomUUID(), role: 'user', parts: [{ kind: 'text', text }], ...more },
});

describe('message/send', () => {
  // [A2A-03-1]
  it('waits for the outcome, and gives the finished task with its discriminators', async () => {
    const { result } = await v03('message/send', saying('hello'));
    expect(result).toMatchObject({
      kind: 'task',
      status: { state: 'completed' },
      artifacts: [{ artifactId: 'text', parts: [{ kind: 'text', text: 'HELLO' }] }],
      history: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hello' }] }],
    });
  });

  // [A2A-VERSION-3]
  it('is what a request without a version asks for', async () => {
    const { body } = await call(server.url, TOKEN, null, 'message/send', saying('hello'));
    expect(body.result).toMatchObject({ kind: 'task', status: { state: 'completed' } });
  });

  it('answers at once when it shall not block, and the task goes on', async () => {
    const { result } = await v03('message/send', { ...saying('sleep 200ms'), configuration: { blocking: false } });
    expect(['submitted', 'working']).toContain(result?.status.state);
    await eventually(
      () => v03('tasks/get', { id: result!.id }),
      (answer) => answer.result?.status.state === 'completed',
    );
  });

  // [A2A-03-1]
  it('answers with a message when the agent replies without a task', async () => {
    const { result } = await v03('message/send', saying('reply'));
    expect(result).toMatchObject({ kind: 'message', role: 'agent', parts: [{ kind: 'text', text: 'REPLY' }] });
  });

  it('goes on with a task that asked for input', async () => {
    const asked = await v03('message/send', saying('ask'));
    expect(asked.result?.status.state).toBe('input-required');
    const { id: taskId, contextId } = asked.result!;
    const answered = await v03('message/send', saying('this', { taskId, contextId }));
    expect(answered.result).toMatchObject({ id: taskId, status: { state: 'completed' } });
  });

  it('refuses a message to an ended task as invalid parameters, and one to a missing task as not found', async () => {
    const { result } = await v03('message/send', saying('hello'));
    expect((await v03('message/send', saying('more', { taskId: result!.id }))).error?.code).toBe(-32602);
    expect((await v03('message/send', saying('more', { taskId: randomUUID() }))).error?.code).toBe(-32001);
  });

  // F30, [A2A-03-2]
  it('takes files, data and text, and both versions show the same content', async () => {
    const bytes = Buffer.from('some bytes').toString('base64');
    const parts: JsonObject[] = [
      { kind: 'text', text: 'ask', metadata: { a: 1 } },
      { kind: 'file', file: { bytes, name: 'a.txt', mimeType: 'text/plain' } },
      { kind: 'file', file: { uri: 'https://example.com/b.png', name: 'b.png', mimeType: 'image/png' } },
      { kind: 'data', data: { deep: { list: [1, null, 'x'] } } },
    ];
    const { result, error } = await v03('message/send', saying('', { parts, metadata: { about: 'files' } }));
    if (error !== undefined) throw new Error(JSON.stringify(error));
    expect(result?.history?.[0]).toMatchObject({ parts, metadata: { about: 'files' } });
    const read = await new V1Caller(server.url, TOKEN).get(result!.id);
    expect(read.history?.[0]?.parts).toEqual([
      { text: 'ask', metadata: { a: 1 } },
      { raw: bytes, filename: 'a.txt', mediaType: 'text/plain' },
      { url: 'https://example.com/b.png', filename: 'b.png', mediaType: 'image/png' },
      { data: { deep: { list: [1, null, 'x'] } } },
    ]);
    expect((await v03('tasks/get', { id: result!.id })).result?.history?.[0]).toMatchObject({ parts });
  });
});

// [A2A-03-5]
it('gets and cancels tasks, also those of a v1.0 client', async () => {
  const { id } = await new V1Caller(server.url, TOKEN).start('sleep 60s');
  expect((await v03('tasks/get', { id, historyLength: 1 })).result).toMatchObject({ id, kind: 'task' });
  const canceled = await v03('tasks/cancel', { id });
  expect(canceled.result).toMatchObject({ id, status: { state: 'canceled' } });
  expect((await v03('tasks/cancel', { id })).result?.status).toEqual(canceled.result?.status);
  const done = await v03('message/send', saying('hello'));
  expect((await v03('tasks/cancel', { id: done.result!.id })).error?.code).toBe(-32002);
  expect((await v03('tasks/get', { id: randomUUID() })).error?.code).toBe(-32001);
});

// F29, [A2A-VERSION-1]
it('knows no method of v1.0, and no tasks/list', async () => {
  for (const name of ['SendMessage', 'GetTask', 'ListTasks', 'CancelTask', 'tasks/list', 'toString']) {
    expect((await v03(name, { id: 'x' })).error?.code).toBe(-32601);
  }
});

it('reads no field name or role of v1.0', async () => {
  const v1Role = saying('hi', { role: 'ROLE_USER' });
  expect((await v03('message/send', v1Role)).error?.code).toBe(-32602);
  const snake = { message: { kind: 'message', message_id: 'x', role: 'user', parts: [{ kind: 'text', text: 'hi' }] } };
  expect((await v03('message/send', snake)).error?.code).toBe(-32602);
});
