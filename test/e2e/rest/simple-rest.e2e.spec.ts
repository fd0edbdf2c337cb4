import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json, JsonObject } from '@app/domain';
import { eventually, http, V1Caller } from '../../support/clients/rpc.js';
import { SseReader } from '../../support/clients/sse-reader.js';
import { type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';

let server: RunningServer;

beforeAll(async () => {
  server = await startServer();
}, 90_000);
afterAll(() => server?.stop());

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
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const answer = await http(method, `${server.url}/a2a/${path}`, TOKEN, { headers, ...sent });
  return { status: answer.status, text: answer.text, task: JSON.parse(answer.text) as RestTask };
}

const create = async (input: Json, more: JsonObject = {}) => (await rest('POST', 'tasks', { input, ...more })).task;
const untilStatus = (id: string, status: string) =>
  eventually(
    async () => (await rest('GET', `tasks/${id}`)).task,
    (task) => task.status === status,
  );

describe('a task', () => {
  it('is created with 201, pending or on its way, and gets its output', async () => {
    const { status, task } = await rest('POST', 'tasks', { input: 'hello', metadata: { for: 'me' } });
    expect(status).toBe(201);
    expect(task).toMatchObject({ id: expect.any(String), input: 'hello', metadata: { for: 'me' } });
    expect(['pending', 'running', 'completed']).toContain(task.status);
    const done = await untilStatus(task.id, 'completed');
    expect(Object.keys(done)).toEqual(['id', 'status', 'input', 'output', 'metadata', 'created_at', 'updated_at']);
    expect(done).toMatchObject({ output: 'HELLO', created_at: task.created_at });
    expect(Date.parse(done.updated_at)).toBeGreaterThanOrEqual(Date.parse(done.created_at));
  });

  it('says why it failed', async () => {
    const failed = await untilStatus((await create('fail')).id, 'failed');
    expect(failed).toMatchObject({ error: 'failed, as asked' });
    expect(await untilStatus((await create('reject')).id, 'failed')).toMatchObject({ error: 'rejected, as asked' });
  });

  it('runs while it waits for input', async () => {
    await untilStatus((await create('ask')).id, 'running');
  });

  it('takes any JSON as its input', async () => {
    for (const input of [{ text: 'x', list: [1, 2] }, [1, 'two', null], 3, null]) {
      expect((await create(input)).input).toEqual(input);
    }
  });

  it('is the task of A2A, too', async () => {
    const { id } = await create('hello');
    await untilStatus(id, 'completed');
    expect(await new V1Caller(server.url, TOKEN).get(id)).toMatchObject({
      artifacts: [{ parts: [{ text: 'HELLO' }] }],
    });
  });
});

it('creates one task for one Idempotency-Key, and refuses another input under it', async () => {
  const key = { 'Idempotency-Key': randomUUID() };
  const first = await rest('POST', 'tasks', { input: 'once' }, key);
  const again = await rest('POST', 'tasks', { input: 'once' }, key);
  expect([first.status, again.status]).toEqual([201, 201]);
  expect(again.task.id).toBe(first.task.id);
  expect((await rest('POST', 'tasks', { input: 'twice' }, key)).status).toBe(400);
  const unkeyed = [await create('once'), await create('once')];
  expect(unkeyed[0]!.id).not.toBe(unkeyed[1]!.id);
  for (const wrong of ['x'.repeat(257), 'a b']) {
    expect((await rest('POST', 'tasks', { input: 'x' }, { 'Idempotency-Key': wrong })).status).toBe(400);
  }
});

it('answers a task that does not exist with 404 and exactly {"error":"task not found"}', async () => {
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

it('cancels on DELETE, and gives an ended task unchanged', async () => {
  const { id } = await create('sleep 60s');
  const canceled = await rest('DELETE', `tasks/${id}`);
  expect(canceled).toMatchObject({ status: 200, task: { id, status: 'cancelled' } });
  expect((await rest('DELETE', `tasks/${id}`)).task).toEqual(canceled.task);
  const done = await untilStatus((await create('hello')).id, 'completed');
  expect(await rest('DELETE', `tasks/${done.id}`)).toMatchObject({ status: 200, task: done });
});

describe('the stream', () => {
  it('gives the whole task on each change, and closes at the end', async () => {
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

  it('of an ended task is its last snapshot, then the end', async () => {
    const { id } = await create('hello');
    const done = await untilStatus(id, 'completed');
    const stream = await SseReader.open(`${server.url}/a2a/tasks/${id}/stream`, TOKEN);
    expect((await stream.remaining()).map(({ data }) => JSON.parse(data) as RestTask)).toEqual([done]);
  });

  it('serves the others when one client goes away', async () => {
    const { id } = await create('sleep 500ms');
    const url = `${server.url}/a2a/tasks/${id}/stream`;
    const [leaving, staying] = await Promise.all([SseReader.open(url, TOKEN), SseReader.open(url, TOKEN)]);
    await leaving.next();
    leaving.close();
    expect(JSON.parse((await staying.remaining()).at(-1)!.data)).toMatchObject({ status: 'completed' });
  });
});

it('describes the agent', async () => {
  const { status, text } = await rest('GET', 'agent');
  expect(status).toBe(200);
  expect(JSON.parse(text)).toEqual({
    name: 'demo',
    description: expect.any(String),
    version: expect.any(String),
    capabilities: ['upper-case'],
  });
});

it('is all behind authentication', async () => {
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
  ['no input', {}],
  ['no object', ['input']],
  ['metadata that is no object', { input: 'x', metadata: 'y' }],
  ['a ring that the caller is not in', { input: 'x', metadata: { ring: 'ring:none' } }],
])('refuses %s with 400', async (_what, body) => {
  const { status, text } = await rest('POST', 'tasks', body as Json);
  expect(status).toBe(400);
  expect(JSON.parse(text)).toEqual({ error: expect.any(String) });
});
