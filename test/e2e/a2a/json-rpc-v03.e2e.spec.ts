import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '@app/domain';
import { call, eventually, sendParamsV03, type WireTask } from '../../support/clients/rpc.js';
import { useServer } from '../../support/processes/spec-server.js';
import { TOKEN } from '../../support/processes/start-server.js';

const server = useServer();

const v03 = async (method: string, params?: JsonObject) =>
  (await call(server.url, TOKEN, '0.3', method, params)).body as { result?: WireTask; error?: { code: number } };

describe('message/send', () => {
  // [A2A-03-1]
  it('waits for the outcome, and returns the completed task with its discriminators', async () => {
    const { result } = await v03('message/send', sendParamsV03('hello'));
    expect(result).toMatchObject({
      kind: 'task',
      status: { state: 'completed' },
      artifacts: [{ artifactId: 'text', parts: [{ kind: 'text', text: 'HELLO' }] }],
      history: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hello' }] }],
    });
  });

  // [A2A-VERSION-3]
  it('is available in a request without A2A-Version', async () => {
    const { body } = await call(server.url, TOKEN, null, 'message/send', sendParamsV03('hello'));
    expect(body.result).toMatchObject({ kind: 'task', status: { state: 'completed' } });
  });

  it('returns immediately if blocking is false, and the task continues', async () => {
    const { result } = await v03('message/send', sendParamsV03('sleep 200ms', { configuration: { blocking: false } }));
    expect(['submitted', 'working']).toContain(result?.status.state);
    await eventually(
      () => v03('tasks/get', { id: result!.id }),
      (response) => response.result?.status.state === 'completed',
    );
  });

  // [A2A-03-1]
  it('returns a direct message response if the agent creates no task', async () => {
    const { result } = await v03('message/send', sendParamsV03('reply'));
    expect(result).toMatchObject({ kind: 'message', role: 'agent', parts: [{ kind: 'text', text: 'REPLY' }] });
  });

  it('continues a task that requires input', async () => {
    const first = await v03('message/send', sendParamsV03('ask'));
    expect(first.result?.status.state).toBe('input-required');
    const { id: taskId, contextId } = first.result!;
    const second = await v03('message/send', sendParamsV03('this', { message: { taskId, contextId } }));
    expect(second.result).toMatchObject({ id: taskId, status: { state: 'completed' } });
  });

  it('rejects an ended task as invalid parameters, and an unknown task as not found', async () => {
    const { result } = await v03('message/send', sendParamsV03('hello'));
    const sendTo = (taskId: string) => v03('message/send', sendParamsV03('more', { message: { taskId } }));
    expect((await sendTo(result!.id)).error?.code).toBe(-32602);
    expect((await sendTo(randomUUID())).error?.code).toBe(-32001);
  });

  // F30, [A2A-03-2]
  it('accepts files, data and text, and both versions return the same content', async () => {
    const bytes = Buffer.from('some bytes').toString('base64');
    const parts: JsonObject[] = [
      { kind: 'text', text: 'ask', metadata: { a: 1 } },
      { kind: 'file', file: { bytes, name: 'a.txt', mimeType: 'text/plain' } },
      { kind: 'file', file: { uri: 'https://example.com/b.png', name: 'b.png', mimeType: 'image/png' } },
      { kind: 'data', data: { deep: { list: [1, null, 'x'] } } },
    ];
    const params = sendParamsV03('', { message: { parts, metadata: { about: 'files' } } });
    const { result, error } = await v03('message/send', params);
    if (error !== undefined) throw new Error(JSON.stringify(error));
    expect(result?.history?.[0]).toMatchObject({ parts, metadata: { about: 'files' } });
    const read = await server.caller.get(result!.id);
    expect(read.history?.[0]?.parts).toEqual([
      { text: 'ask', metadata: { a: 1 } },
      { raw: bytes, filename: 'a.txt', mediaType: 'text/plain' },
      { url: 'https://example.com/b.png', filename: 'b.png', mediaType: 'image/png' },
      { data: { deep: { list: [1, null, 'x'] } } },
    ]);
    expect((await v03('tasks/get', { id: result!.id })).result?.history?.[0]).toMatchObject({ parts });
  });
});

describe('JSON-RPC of A2A 0.3', () => {
  // [A2A-03-5]
  it('gets and cancels a task of a client of A2A 1.0', async () => {
    const { id } = await server.caller.start('sleep 60s');
    expect((await v03('tasks/get', { id, historyLength: 1 })).result).toMatchObject({ id, kind: 'task' });
    const canceled = await v03('tasks/cancel', { id });
    expect(canceled.result).toMatchObject({ id, status: { state: 'canceled' } });
    expect((await v03('tasks/cancel', { id })).result?.status).toEqual(canceled.result?.status);
  });

  // [A2A-03-5]
  it('rejects a cancel of a completed task, and returns not found for an unknown task', async () => {
    const completed = await v03('message/send', sendParamsV03('hello'));
    expect((await v03('tasks/cancel', { id: completed.result!.id })).error?.code).toBe(-32002);
    expect((await v03('tasks/get', { id: randomUUID() })).error?.code).toBe(-32001);
  });

  // F29, [A2A-VERSION-1]
  it.each(['SendMessage', 'GetTask', 'ListTasks', 'CancelTask', 'tasks/list', 'toString'])(
    'has no method %s',
    async (name) => {
      expect((await v03(name, { id: 'x' })).error?.code).toBe(-32601);
    },
  );

  it('rejects a role and field names of other versions', async () => {
    const v1Role = sendParamsV03('hi', { message: { role: 'ROLE_USER' } });
    expect((await v03('message/send', v1Role)).error?.code).toBe(-32602);
    const snakeCase = {
      message: { kind: 'message', message_id: 'x', role: 'user', parts: [{ kind: 'text', text: 'hi' }] },
    };
    expect((await v03('message/send', snakeCase)).error?.code).toBe(-32602);
  });
});
