import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { V1Caller } from '../../support/clients/rpc.js';
import { type RunningServer, startServer, startWorker, TOKEN } from '../../support/processes/start-server.js';
import { countOf, countsIn, type Frame, integers, stateOf, TaskStream } from '../../support/clients/task-stream.js';
import { createTestDatabase, type TestDatabase } from '../../support/database/test-database.js';
import { COUNTER } from '../agents/modules/agent-modules.js';

let database: TestDatabase;
let processes: { stop(): Promise<unknown> }[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
}, 90_000);
afterEach(async () => {
  await Promise.all(processes.map((process) => process.stop()));
  processes = [];
});
afterAll(() => database?.drop());

async function start(env: Record<string, string>): Promise<RunningServer> {
  const server = await startServer({ databaseUrl: database.url, env: { ACTA_AGENTS: COUNTER, ...env } });
  processes.push(server);
  return server;
}

const subscribe = ({ url }: RunningServer, id: string, lastEventId?: number) =>
  TaskStream.open(url, TOKEN, 'SubscribeToTask', { id }, lastEventId === undefined ? {} : { lastEventId });

/** Starts a server that executes no runs, and a worker. */
async function startWithWorker(): Promise<RunningServer> {
  const server = await start({ ACTA_WORKER_CONCURRENCY: '0' });
  processes.push(await startWorker(database.url, { ACTA_AGENTS: COUNTER }));
  return server;
}

/** Reads a stream to the frame with a number, then kills its server. Returns the frames. */
async function readAndKill(server: RunningServer, id: string, count: number): Promise<Frame[]> {
  const stream = await subscribe(server, id);
  const frames = await stream.until((frame) => (countOf(frame) ?? 0) >= count);
  server.process.kill('SIGKILL');
  await stream.remaining().catch(() => []);
  return frames;
}

describe('A stream', () => {
  // F9
  it('resumes on the restarted server and on a different replica after kill -9 of its server', async () => {
    const server = await startWithWorker();
    const replica = await start({ ACTA_WORKER_CONCURRENCY: '0' });
    const { id } = await new V1Caller(server.url, TOKEN).start('count 300 every 10');
    const before = await readAndKill(server, id, 50);
    const last = before.at(-1)!;

    const restarted = await start({ ACTA_WORKER_CONCURRENCY: '0' });
    const resumed = await Promise.all([subscribe(restarted, id, last.id), subscribe(replica, id, last.id)]);
    for (const frames of await Promise.all(resumed.map((stream) => stream.remaining()))) {
      const [snapshot, ...after] = frames;
      expect(snapshot).toMatchObject({ id: last.id, result: { task: { id } } });
      expect(countOf(snapshot!)).toBe(countOf(last));
      const all = [...before.slice(1), ...after];
      expect(countsIn(all)).toEqual(integers(countsIn(all)[0]!, 300));
      expect(new Set(all.map((frame) => frame.id)).size).toBe(all.length);
      expect(stateOf(after.at(-1)!)).toBe('TASK_STATE_COMPLETED');
    }
    // The task has ended now.
    const ofEndedTask = await (await subscribe(replica, id, last.id)).remaining();
    expect(countsIn(ofEndedTask)).toEqual(integers(countOf(last)!, 300));
  }, 90_000);

  // F9
  it('resumes with the events of the next attempt after kill -9 of the server that executed the run', async () => {
    const env = { ACTA_LEASE_MS: '1000' };
    const server = await start(env);
    const { id } = await new V1Caller(server.url, TOKEN).start('count 60 every 10');
    const last = (await readAndKill(server, id, 20)).at(-1)!;

    const restarted = await start(env);
    const [snapshot, ...after] = await (await subscribe(restarted, id, last.id)).remaining();
    expect(countOf(snapshot!)).toBe(countOf(last));
    const ids = after.map((frame) => frame.id);
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    expect(new Set(ids).size).toBe(ids.length);
    // First the remaining events of the lost attempt, then all events of the second attempt.
    const counts = countsIn(after);
    const restart = counts.lastIndexOf(1);
    expect(counts.slice(0, restart)).toEqual(integers(countOf(last)! + 1, countOf(last)! + restart));
    expect(counts.slice(restart)).toEqual(integers(1, 60));
    expect(stateOf(after.at(-1)!)).toBe('TASK_STATE_COMPLETED');
  }, 90_000);

  it('ends with a reconnection time when its server stops', async () => {
    const server = await startWithWorker();
    const { id } = await new V1Caller(server.url, TOKEN).start('count 400 every 10');
    const response = await fetch(`${server.url}/a2a/tasks/${id}/stream`, {
      headers: { Authorization: `Bearer ${TOKEN}` },
    });
    const text = response.text();
    await server.process.stop();
    expect(await text).toMatch(/(?:^|\n\n)retry: \d+\n\n$/);
  }, 90_000);
});
