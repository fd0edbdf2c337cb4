import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Json, JsonObject } from '@app/domain';
import { eventually, http } from '../../support/clients/rpc.js';
import { SseReader } from '../../support/clients/sse-reader.js';
import { useServer } from '../../support/processes/spec-server.js';
import { TOKEN } from '../../support/processes/start-server.js';

const server = useServer();

interface RestTask {
  id: string;
  status: string;
  input: Json;
  output?: Json;
  error?: string;
  metadata?: JsonObject;
  created_at: string;
  updated_at: string;
}

async function rest(method: string, path: string, body?: Json, headers: Record<string, string> = {}) {
  const options = body === undefined ? { headers } : { headers, body: JSON.stringify(body) };
  const { status, text } = await http(method, `${server.url}/a2a/${path}`, TOKEN, options);
  return { status, text, task: JSON.parse(text) as RestTask };
}

const create = async (input: Json, more: JsonObject = {}) => (await rest('POST', 'tasks', { input, ...more })).task;
const untilStatus = (id: string, status: string) =>
  eventually(
    async () => (await rest('GET', `tasks/${id}`)).task,
    (task) => task.status === status,
  );

describe('A task of the simple REST API', () => {
  it('is created with 201, and has its output when it is completed', async () => {
    const { status, task } = await rest('POST', 'tasks', { input: 'hello', metadata: { for: 'me' } });
    expect(status).toBe(201);
    expect(task).toMatchObject({ id: expect.any(String), input: 'hello', metadata: { for: 'me' } });
    expect(['pending', 'running', 'completed']).toContain(task.status);
    const completed = await untilStatus(task.id, 'completed');
    expect(Object.keys(completed)).toEqual(['id', 'status', 'input', 'output', 'metadata', 'created_at', 'updated_at']);
    expect(completed).toMatchObject({ output: 'HELLO', created_at: task.created_at });
    expect(Date.parse(completed.updated_at)).toBeGreaterThanOrEqual(Date.parse(completed.created_at));
  });

  it('has the reason as its error if the agent fails or rejects it', async () => {
    const failed = await untilStatus((await create('fail')).id, 'failed');
    expect(failed).toMatchObject({ error: 'The text contains `fail`.' });
    expect(await untilStatus((await create('reject')).id, 'failed')).toMatchObject({
      error: 'The text contains `reject`.',
    });
  });

  it('has the status running while it requires input', async () => {
    await untilStatus((await create('ask')).id, 'running');
  });

  it('has any JSON value as its input', async () => {
    for (const input of [{ text: 'x', list: [1, 2] }, [1, 'two', null], 3, null]) {
      expect((await create(input)).input).toEqual(input);
    }
  });

  it('is also a task of A2A', async () => {
    const { id } = await create('hello');
    await untilStatus(id, 'completed');
    expect(await server.caller.get(id)).toMatchObject({
      artifacts: [{ parts: [{ text: 'HELLO' }] }],
    });
  });

  it('is created once per Idempotency-Key, and a different input with the same key is rejected', async () => {
    const key = { 'Idempotency-Key': randomUUID() };
    const first = await rest('POST', 'tasks', { input: 'once' }, key);
    const repeated = await rest('POST', 'tasks', { input: 'once' }, key);
    expect([first.status, repeated.status]).toEqual([201, 201]);
    expect(repeated.task.id).toBe(first.task.id);
    const reused = await rest('POST', 'tasks', { input: 'twice' }, key);
    expect([reused.status, reused.text]).toEqual([400, expect.stringContaining('Idempotency-Key: was used before')]);
    expect((await create('once')).id).not.toBe((await create('once')).id);
    for (const wrong of ['x'.repeat(257), 'a b']) {
      expect((await rest('POST', 'tasks', { input: 'x' }, { 'Idempotency-Key': wrong })).status).toBe(400);
    }
  });

  it('is canceled by DELETE, and is not changed if it has ended', async () => {
    const { id } = await create('sleep 60s');
    const canceled = await rest('DELETE', `tasks/${id}`);
    expect(canceled).toMatchObject({ status: 200, task: { id, status: 'cancelled' } });
    expect((await rest('DELETE', `tasks/${id}`)).task).toEqual(canceled.task);
    const completed = await untilStatus((await create('hello')).id, 'completed');
    expect(await rest('DELETE', `tasks/${completed.id}`)).toMatchObject({ status: 200, task: completed });
  });
});

describe('A stream of the simple REST API', () => {
  it('sends the complete task for each change, and ends with the task', async () => {
    const { id } = await create('one two three sleep 300ms chunks 3');
    const stream = await SseReader.open(`${server.url}/a2a/tasks/${id}/stream`, TOKEN);
    const events = await stream.remaining();
    const snapshots = events.map(({ data }) => JSON.parse(data) as RestTask);
    expect(snapshots.length).toBeGreaterThan(1);
    expect(new Set(snapshots.map((task) => task.id))).toEqual(new Set([id]));
    expect(snapshots.at(-1)).toEqual((await rest('GET', `tasks/${id}`)).task);
    expect(snapshots.at(-1)).toMatchObject({ status: 'completed', output: 'ONE TWO THREE SLEEP 300MS CHUNKS 3' });
    const versions = events.map((event) => Number(event.id));
    expect(versions).toEqual(versions.toSorted((a, b) => a - b));
    expect(new Set(versions).size).toBe(versions.length);
  });

  it('sends only the final state of an ended task', async () => {
    const { id } = await create('hello');
    const completed = await untilStatus(id, 'completed');
    const stream = await SseReader.open(`${server.url}/a2a/tasks/${id}/stream`, TOKEN);
    expect((await stream.remaining()).map(({ data }) => JSON.parse(data) as RestTask)).toEqual([completed]);
  });

  it('continues when the stream of another client is closed', async () => {
    const { id } = await create('sleep 500ms');
    const url = `${server.url}/a2a/tasks/${id}/stream`;
    const [closed, open] = await Promise.all([SseReader.open(url, TOKEN), SseReader.open(url, TOKEN)]);
    await closed.next();
    closed.close();
    expect(JSON.parse((await open.remaining()).at(-1)!.data)).toMatchObject({ status: 'completed' });
  });
});

describe('The simple REST API', () => {
  it('returns the name, the description, the version and the capabilities of the agent', async () => {
    const { status, text } = await rest('GET', 'agent');
    expect(status).toBe(200);
    expect(JSON.parse(text)).toEqual({
      name: 'demo',
      description: expect.any(String),
      version: expect.any(String),
      capabilities: ['upper-case'],
    });
  });

  it('returns 404 with the body {"error":"task not found"} for an unknown task id', async () => {
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/stream'],
    ] as const) {
      for (const id of [randomUUID(), 'no-uuid', '%00', 'a'.repeat(5_000)]) {
        const { status, text } = await rest(method, `tasks/${id}${path}`);
        expect({ status, text }).toEqual({ status: 404, text: '{"error":"task not found"}' });
      }
    }
  });

  it('rejects every request without a credential with 401', async () => {
    for (const [method, path] of [
      ['GET', 'agent'],
      ['POST', 'tasks'],
      ['GET', 'tasks/x'],
      ['DELETE', 'tasks/x'],
      ['GET', 'tasks/x/stream'],
    ] as const) {
      const { status, text } = await http(method, `${server.url}/a2a/${path}`, null);
      expect(status).toBe(401);
      expect(JSON.parse(text)).toEqual({ error: expect.any(String) });
    }
  });

  it.each([
    ['a body without input', {}],
    ['a body that is a list', ['input']],
    ['metadata that is not an object', { input: 'x', metadata: 'y' }],
    [
      'a ring that the caller is not in',
      { input: 'x', metadata: { ring: 'ring:none' } },
      ' metadata.ring: "ring:none" is not',
    ],
    ['a ring that is no text', { input: 'x', metadata: { ring: 7 } }, ' metadata.ring: must be a string'],
    [
      'a ring in the input that the caller is not in',
      { input: { ring: 'ring:none' } },
      ' input.ring: "ring:none" is not',
    ],
    [
      'two rings',
      { input: { ring: 'ring:none' }, metadata: { ring: 'ring:default' } },
      ' input.ring: "ring:none" differs from "ring:default"',
    ],
    ['NUL in the input', { input: { a: ['\0'] } }, ' input.a[0]: must not contain NUL'],
  ])('rejects %s with 400 and the names that the client sent', async (_name, body, message = ': ') => {
    const { status, text } = await rest('POST', 'tasks', body as Json);
    expect(status).toBe(400);
    expect(JSON.parse(text)).toEqual({ error: expect.stringContaining(message) });
    expect(text).not.toContain('message.');
  });
});
