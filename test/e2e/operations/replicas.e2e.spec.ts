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
let withWorker: RunningServer;
let apiOnly: RunningServer;
let worker: ActaProcess;
/** Callers of the server that also runs agents, and of the server that does not. */
let first: V1Caller;
let second: V1Caller;

beforeAll(async () => {
  shared = await createTestDatabase();
  database = new DatabaseView(shared.url);
  [withWorker, apiOnly, worker] = await Promise.all([
    startServer({ databaseUrl: shared.url }),
    startServer({ databaseUrl: shared.url, env: { ACTA_WORKER_CONCURRENCY: '0' } }),
    startWorker(shared.url),
  ]);
  first = new V1Caller(withWorker.url, TOKEN);
  second = new V1Caller(apiOnly.url, TOKEN);
}, 120_000);
afterAll(async () => {
  await database?.close();
  await Promise.all([withWorker?.stop(), apiOnly?.stop(), worker?.stop()]);
  await shared?.drop();
});

const hasEnded = ({ status }: WireTask) =>
  status.state === 'TASK_STATE_COMPLETED' || status.state === 'TASK_STATE_CANCELED';
const count = (types: readonly string[], type: string) => types.filter((candidate) => candidate === type).length;

describe('Replicas on one database', () => {
  it('return a task that was sent to a different replica', async () => {
    const sent = await first.send('hello');
    expect(await second.get(sent.id)).toEqual(sent);
    expect((await second.list({ contextId: sent.contextId })).tasks.map(({ id }) => id)).toEqual([sent.id]);
    const reverse = await second.send('hello');
    expect(await first.get(reverse.id)).toEqual(reverse);
  });

  it('return the outcome of a blocking send that a different process runs', async () => {
    const task = await second.send('remote sleep 300ms');
    expect(task).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } });
    expect(task.artifacts?.[0]?.parts).toEqual([{ text: 'REMOTE SLEEP 300MS' }]);
  });

  it('stream a task that a different replica runs', async () => {
    const { id } = await first.start('sleep 300ms chunks 2');
    const stream = await SseReader.open(`${apiOnly.url}/a2a/tasks/${id}/stream`, TOKEN);
    const events = await stream.remaining();
    expect(JSON.parse(events.at(-1)!.data)).toMatchObject({ id, status: 'completed', output: 'SLEEP 300MS CHUNKS 2' });
  });

  // F1
  it('return the same task, which runs once, when a client repeats a send after a crash', async () => {
    const messageId = randomUUID();
    const params = sendParams('sleep 500ms', { message: { messageId } });
    const crash = new AbortController();
    const lost = first.call('SendMessage', params, crash.signal);
    await eventually(
      () => second.list({ historyLength: 1 }),
      ({ tasks }) => tasks.some(({ history }) => history?.[0]?.messageId === messageId),
    );
    crash.abort();
    await expect(lost).rejects.toThrow();
    const repeated = await second.send('sleep 500ms', { message: { messageId } });
    expect(repeated.status.state).toBe('TASK_STATE_COMPLETED');
    expect(await first.send('sleep 500ms', { message: { messageId } })).toEqual(repeated);
    expect(count(await database.eventTypes(repeated.id), 'RunStarted')).toBe(1);
  });

  // F2
  it('create one task with one run for a message that two replicas receive concurrently, and return the same response', async () => {
    const pairs = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const params = sendParams('twice', { message: { messageId: randomUUID() } });
        return Promise.all([first.call('SendMessage', params), second.call('SendMessage', params)]);
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
  it('complete and record a task whose client disconnects during a blocking send', async () => {
    const messageId = randomUUID();
    const disconnect = new AbortController();
    const call = first.call('SendMessage', sendParams('sleep 400ms', { message: { messageId } }), disconnect.signal);
    const { tasks } = await eventually(
      () => first.list({ status: 'TASK_STATE_WORKING', historyLength: 2 }),
      (page) => page.tasks.some(({ history }) => history?.[0]?.messageId === messageId),
    );
    disconnect.abort();
    await expect(call).rejects.toThrow();
    const { id } = tasks.find(({ history }) => history?.[0]?.messageId === messageId)!;
    const done = await eventually(() => second.get(id), hasEnded);
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

  describe('when a client cancels on a different replica', () => {
    // F18
    it('return the canceled task to the canceling client and to the blocking sender', async () => {
      const messageId = randomUUID();
      const sender = first.send('sleep 60s', { message: { messageId } });
      const { tasks } = await eventually(
        () => second.list({ status: 'TASK_STATE_WORKING', historyLength: 2 }),
        (page) => page.tasks.some(({ history }) => history?.[0]?.messageId === messageId),
      );
      const canceled = await second.cancel(tasks.find(({ history }) => history?.[0]?.messageId === messageId)!.id);
      expect(canceled.status.state).toBe('TASK_STATE_CANCELED');
      expect((await sender).status).toEqual(canceled.status);
    });

    // F16, F18
    it('agree on one final state when the cancel and the completion race', async () => {
      const races = await Promise.all(
        Array.from({ length: 30 }, async (_, index) => {
          const task = await first.start('sleep 100ms');
          await new Promise((resolve) => setTimeout(resolve, 60 + index * 4));
          const { body } = await second.call('CancelTask', { id: task.id });
          return { id: task.id, returned: body.result as unknown as WireTask | undefined, error: body.error };
        }),
      );
      const streams = await database.streams();
      for (const { id, returned, error } of races) {
        const final = await first.get(id);
        expect(terminalEventsOf(streams.get(id)!)).toHaveLength(1);
        if (returned !== undefined) expect(returned.status).toEqual(final.status);
        else {
          expect(error?.code).toBe(-32002);
          expect(final.status.state).toBe('TASK_STATE_COMPLETED');
        }
        expect(hasEnded(final)).toBe(true);
      }
    });
  });

  // F40
  it('accept a page token of a different replica', async () => {
    const contextId = randomUUID();
    const ids: string[] = [];
    for (let count = 0; count < 4; count += 1) ids.unshift((await first.send('hi', { message: { contextId } })).id);
    const page = await first.list({ contextId, pageSize: 2 });
    const nextPage = await second.list({ contextId, pageSize: 2, pageToken: page.nextPageToken });
    expect([...page.tasks, ...nextPage.tasks].map(({ id }) => id)).toEqual(ids);
  });
});
