import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { V1Caller } from '../../support/clients/rpc.js';
import { type RunningServer, startServer, startWorker, TOKEN } from '../../support/processes/start-server.js';
import { countOf, type Frame, stateOf, TaskStream } from '../../support/clients/task-stream.js';
import { createTestDatabase, type TestDatabase } from '../../support/database/test-database.js';

const ACTA_AGENTS = fileURLToPath(new URL('../agents/modules/counter.mjs', import.meta.url));

let database: TestDatabase;
let running: { stop(): Promise<unknown> }[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
}, 90_000);
afterEach(async () => {
  await Promise.all(running.map((process) => process.stop()));
  running = [];
});
afterAll(() => database?.drop());

async function start(env: Record<string, string>): Promise<RunningServer> {
  const server = await startServer({ databaseUrl: database.url, env: { ACTA_AGENTS, ...env } });
  running.push(server);
  return server;
}

const subscribe = ({ url }: RunningServer, id: string, lastEventId?: number) =>
  TaskStream.open(url, TOKEN, 'SubscribeToTask', { id }, lastEventId === undefined ? {} : { lastEventId });

const counting = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);
const counts = (frames: readonly Frame[]) => frames.map(countOf).filter((count) => count !== undefined);

// F9
it('resumes after the server was killed in the middle, there and on the other replica', async () => {
  const serving = await start({ ACTA_WORKER_CONCURRENCY: '0' });
  const other = await start({ ACTA_WORKER_CONCURRENCY: '0' });
  running.push(await startWorker(database.url, { ACTA_AGENTS }));
  const { id } = await new V1Caller(serving.url, TOKEN).start('count 300 every 10');

  const watching = await subscribe(serving, id);
  const before = await watching.until((frame) => (countOf(frame) ?? 0) >= 50);
  serving.process.kill('SIGKILL');
  await watching.remaining().catch(() => []);
  const last = before.at(-1)!;

  const restarted = await start({ ACTA_WORKER_CONCURRENCY: '0' });
  const resumed = await Promise.all([subscribe(restarted, id, last.id), subscribe(other, id, last.id)]);
  for (const frames of await Promise.all(resumed.map((stream) => stream.remaining()))) {
    const [snapshot, ...rest] = frames;
    expect(snapshot).toMatchObject({ id: last.id, result: { task: { id } } });
    expect(countOf(snapshot!)).toBe(countOf(last));
    const seen = [...before.slice(1), ...rest];
    expect(counts(seen)).toEqual(counting(counts(seen)[0]!, 300));
    expect(new Set(seen.map((frame) => frame.id)).size).toBe(seen.length);
    expect(stateOf(rest.at(-1)!)).toBe('TASK_STATE_COMPLETED');
  }
  // And once more when all is over.
  const afterwards = await (await subscribe(other, id, last.id)).remaining();
  expect(counts(afterwards)).toEqual(counting(countOf(last)!, 300));
}, 90_000);

// F9
it('resumes a task whose own run died with the server, and tells of its next attempt', async () => {
  const env = { ACTA_LEASE_MS: '1000' };
  const serving = await start(env);
  const { id } = await new V1Caller(serving.url, TOKEN).start('count 60 every 10');
  const watching = await subscribe(serving, id);
  const before = await watching.until((frame) => (countOf(frame) ?? 0) >= 20);
  serving.process.kill('SIGKILL');
  await watching.remaining().catch(() => []);
  const last = before.at(-1)!;

  const restarted = await start(env);
  const [snapshot, ...rest] = await (await subscribe(restarted, id, last.id)).remaining();
  expect(countOf(snapshot!)).toBe(countOf(last));
  const ids = rest.map((frame) => frame.id);
  expect(ids).toEqual(ids.toSorted((a, b) => a - b));
  expect(new Set(ids).size).toBe(ids.length);
  // What the lost attempt had still said, then the second attempt from its start to its end.
  const said = counts(rest);
  const again = said.lastIndexOf(1);
  expect(said.slice(0, again)).toEqual(said.slice(0, again).map((_, at) => countOf(last)! + 1 + at));
  expect(said.slice(again)).toEqual(counting(1, 60));
  expect(stateOf(rest.at(-1)!)).toBe('TASK_STATE_COMPLETED');
}, 90_000);

it('tells its clients to come back when the server is stopped in good order', async () => {
  const serving = await start({ ACTA_WORKER_CONCURRENCY: '0' });
  running.push(await startWorker(database.url, { ACTA_AGENTS }));
  const { id } = await new V1Caller(serving.url, TOKEN).start('count 400 every 10');
  const response = await fetch(`${serving.url}/a2a/tasks/${id}/stream`, {
    headers: { Authorization: `Bearer ${TOKEN}` },
  });
  const text = response.text();
  await serving.process.stop();
  expect(await text).toMatch(/(?:^|\n\n)retry: \d+\n\n$/);
}, 90_000);
