import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ActaProcess } from '../../support/processes/acta-process.js';
import { DatabaseView, terminalEventsOf } from '../../support/database/database-view.js';
import { eventually, sendParams, V1Caller, type WireTask } from '../../support/clients/rpc.js';
import { SseReader } from '../../support/clients/sse-reader.js';
import { type RunningServer, startServer, startWorker, TOKEN } from '../../support/processes/start-server.js';
import { createTestDatabase, type TestDatabase } from '../../support/database/test-database.js';

let shared: TestDatabase;
let database: DatabaseView;
let running: RunningServer;
let apiOnly: RunningServer;
let worker: ActaProcess;
/** Callers of the server that runs agents itself, and of the one that does not. */
let one: V1Caller;
let other: V1Caller;

beforeAll(async () => {
  shared = await createTestDatabase();
  database = new DatabaseView(shared.url);
  [running, apiOnly, worker] = await Promise.all([
    startServer({ databaseUrl: shared.url }),
    startServer({ databaseUrl: shared.url, env: { ACTA_WORKER_CONCURRENCY: '0' } }),
    startWorker(shared.url),
  ]);
  one = new V1Caller(running.url, TOKEN);
  other = new V1Caller(apiOnly.url, TOKEN);
}, 120_000);
afterAll(async () => {
  await database?.close();
  await Promise.all([running?.stop(), apiOnly?.stop(), worker?.stop()]);
  await shared?.drop();
});

const isOver = ({ status }: WireTask) =>
  status.state === 'TASK_STATE_COMPLETED' || status.state === 'TASK_STATE_CANCELED';
const count = (types: readonly string[], type: string) => types.filter((candidate) => candidate === type).length;

it('reads from one replica what was sent to the other', async () => {
  const sent = await one.send('hello');
  expect(await other.get(sent.id)).toEqual(sent);
  expect((await other.list({ contextId: sent.contextId })).tasks.map(({ id }) => id)).toEqual([sent.id]);
  const back = await other.send('hello');
  expect(await one.get(back.id)).toEqual(back);
});

it('answers a blocking send to a server without agents when the work elsewhere is done', async () => {
  const task = await other.send('far away sleep 300ms');
  expect(task).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } });
  expect(task.artifacts?.[0]?.parts).toEqual([{ text: 'FAR AWAY SLEEP 300MS' }]);
});

it('streams from one replica what another one runs', async () => {
  const { id } = await one.start('sleep 300ms chunks 2');
  const stream = await SseReader.open(`${apiOnly.url}/a2a/tasks/${id}/stream`, TOKEN);
  const events = await stream.rest();
  expect(JSON.parse(events.at(-1)!.data)).toMatchObject({ id, status: 'completed', output: 'SLEEP 300MS CHUNKS 2' });
});

// F1
it('gives a client that crashed after its send the same task again, on any replica, and runs it once', async () => {
  const messageId = randomUUID();
  const params = sendParams('sleep 500ms', { message: { messageId } });
  const crash = new AbortController();
  const lost = one.call('SendMessage', params, crash.signal);
  await eventually(
    () => other.list({ historyLength: 1 }),
    ({ tasks }) => tasks.some(({ history }) => history?.[0]?.messageId === messageId),
  );
  crash.abort();
  await expect(lost).rejects.toThrow();
  const again = await other.send('sleep 500ms', { message: { messageId } });
  expect(again.status.state).toBe('TASK_STATE_COMPLETED');
  expect(await one.send('sleep 500ms', { message: { messageId } })).toEqual(again);
  expect(count(await database.eventTypes(again.id), 'RunStarted')).toBe(1);
});

// F2
it('makes one task and one run of a message that both replicas receive at once, and gives both the same answer', async () => {
  const pairs = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const params = sendParams('twice', { message: { messageId: randomUUID() } });
      return Promise.all([one.call('SendMessage', params), other.call('SendMessage', params)]);
    }),
  );
  const ids = new Set<string>();
  for (const [left, right] of pairs) {
    expect(left.body.result).toMatchObject({ task: { status: { state: 'TASK_STATE_COMPLETED' } } });
    expect(right.body).toEqual(left.body);
    ids.add((left.body.result as unknown as { task: WireTask }).task.id);
  }
  expect(ids.size).toBe(20);
  const streams = await database.streams();
  for (const id of ids) {
    const types = streams.get(id)!.map(({ type }) => type);
    expect(types.filter((type) => type === 'RunStarted' || type === 'MessageAccepted')).toHaveLength(2);
    expect(terminalEventsOf(streams.get(id)!)).toEqual(['TaskCompleted']);
  }
});

// F6
it('goes on to the end when the client of a blocking send goes away, and records all of it', async () => {
  const messageId = randomUUID();
  const leave = new AbortController();
  const call = one.call('SendMessage', sendParams('sleep 400ms', { message: { messageId } }), leave.signal);
  const { tasks } = await eventually(
    () => one.list({ status: 'TASK_STATE_WORKING', historyLength: 2 }),
    (page) => page.tasks.some(({ history }) => history?.[0]?.messageId === messageId),
  );
  leave.abort();
  await expect(call).rejects.toThrow();
  const { id } = tasks.find(({ history }) => history?.[0]?.messageId === messageId)!;
  const done = await eventually(() => other.get(id), isOver);
  expect(done.artifacts?.[0]?.parts).toEqual([{ text: 'SLEEP 400MS' }]);
  expect(await database.eventTypes(id)).toEqual([
    'TaskSubmitted',
    'MessageAccepted',
    'RunStarted',
    'StatusReported',
    'ArtifactPublished',
    'TaskCompleted',
  ]);
});

describe('cancelling from another replica than the one that runs', () => {
  // F18
  it('gives the final state, and tells the blocking sender the same', async () => {
    const messageId = randomUUID();
    const sender = one.send('sleep 60s', { message: { messageId } });
    const { tasks } = await eventually(
      () => other.list({ status: 'TASK_STATE_WORKING', historyLength: 2 }),
      (page) => page.tasks.some(({ history }) => history?.[0]?.messageId === messageId),
    );
    const canceled = await other.cancel(tasks.find(({ history }) => history?.[0]?.messageId === messageId)!.id);
    expect(canceled.status.state).toBe('TASK_STATE_CANCELED');
    expect((await sender).status).toEqual(canceled.status);
  });

  // F16, F18
  it('or the completion wins, and everybody is told the one that did', async () => {
    const races = await Promise.all(
      Array.from({ length: 30 }, async (_, at) => {
        const task = await one.start('sleep 100ms');
        await new Promise((resolve) => setTimeout(resolve, 60 + at * 4));
        const { body } = await other.call('CancelTask', { id: task.id });
        return { id: task.id, told: body.result as unknown as WireTask | undefined, error: body.error };
      }),
    );
    const streams = await database.streams();
    for (const { id, told, error } of races) {
      const final = await one.get(id);
      expect(terminalEventsOf(streams.get(id)!)).toHaveLength(1);
      if (told !== undefined) expect(told.status).toEqual(final.status);
      else {
        expect(error?.code).toBe(-32002);
        expect(final.status.state).toBe('TASK_STATE_COMPLETED');
      }
      expect(isOver(final)).toBe(true);
    }
  });
});

// F40
it('takes a page token that another replica made', async () => {
  const contextId = randomUUID();
  const ids: string[] = [];
  for (let at = 0; at < 4; at += 1) ids.unshift((await one.send('hi', { message: { contextId } })).id);
  const first = await one.list({ contextId, pageSize: 2 });
  const second = await other.list({ contextId, pageSize: 2, pageToken: first.nextPageToken });
  expect([...first.tasks, ...second.tasks].map(({ id }) => id)).toEqual(ids);
});
