import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { StoredEvent } from '@app/storage';
import { DatabaseView } from '../../support/database/database-view.js';
import { eventually, http, sendParams, V1Caller, type WireTask } from '../../support/clients/rpc.js';
import { type RunningServer, startServer, startWorker, TOKEN } from '../../support/processes/start-server.js';
import { createTestDatabase, type TestDatabase } from '../../support/database/test-database.js';

/** Longer than every test, so that no lease expires. */
const ACTA_LEASE_MS = '60000';
/** Gives runs the time to end during a shutdown. */
const LONG_DRAIN = { ACTA_LEASE_MS, ACTA_DRAIN_MS: '10000' };
const API_ONLY = { ACTA_WORKER_CONCURRENCY: '0', ACTA_LEASE_MS };

let shared: TestDatabase;
let database: DatabaseView;
let running: { stop(): Promise<unknown> }[] = [];

beforeEach(async () => {
  shared = await createTestDatabase();
  database = new DatabaseView(shared.url);
}, 90_000);
afterEach(async () => {
  await Promise.all(running.map((process) => process.stop()));
  running = [];
  await database.close();
  await shared.drop();
});

async function serve(env: Record<string, string>): Promise<RunningServer> {
  const server = await startServer({ databaseUrl: shared.url, env });
  running.push(server);
  return server;
}

const isWorking = ({ status }: WireTask) => status.state === 'TASK_STATE_WORKING';
const isCompleted = ({ status }: WireTask) => status.state === 'TASK_STATE_COMPLETED';
const factsOf = <T>(events: readonly StoredEvent[], type: string) =>
  events.filter((event) => event.type === type).map(({ facts }) => JSON.parse(facts) as T);
const timeOf = (events: readonly StoredEvent[], type: string) =>
  events.findLast((event) => event.type === type)!.recorded_at.getTime();

describe('A process that shuts down', () => {
  it('releases runs that do not end in time, so that a different worker claims them immediately as the same attempt', async () => {
    const caller = new V1Caller((await serve(API_ONLY)).url, TOKEN);
    const stopping = await startWorker(shared.url, LONG_DRAIN);
    const long = await caller.start('sleep 14s');
    const short = await caller.start('sleep 2s');
    for (const { id } of [long, short]) await eventually(() => caller.get(id), isWorking);

    const stopped = stopping.stop();
    const queued = await caller.start('queued');
    const ended = await eventually(() => caller.get(short.id), isCompleted);
    // A worker that drains claims no task.
    expect((await caller.get(queued.id)).status.state).toBe('TASK_STATE_SUBMITTED');
    running.push(await startWorker(shared.url, { ACTA_LEASE_MS }));
    expect(await stopped).toEqual({ code: 0, signal: null });
    await eventually(() => caller.get(queued.id), isCompleted);
    await eventually(
      () => database.eventTypes(long.id),
      (types) => types.lastIndexOf('RunStarted') > types.indexOf('RunLost'),
    );
    await caller.cancel(long.id);

    const streams = await database.streams();
    expect(factsOf(streams.get(ended.id)!, 'RunStarted')).toHaveLength(1);
    const events = streams.get(long.id)!;
    expect(factsOf(events, 'RunLost')).toEqual([expect.objectContaining({ reason: 'released' })]);
    expect(factsOf(events, 'RunRetried')).toEqual([expect.objectContaining({ counted: false })]);
    expect(factsOf<{ attempt: number }>(events, 'RunStarted').map(({ attempt }) => attempt)).toEqual([1, 1]);
    // The claim did not wait for the end of the lease, even on a slow machine.
    expect(timeOf(events, 'RunStarted') - timeOf(events, 'RunLost')).toBeLessThan(Number(ACTA_LEASE_MS));
  }, 120_000);

  it('closes streams and blocking sends immediately with a retry delay, and completes the runs of the process', async () => {
    const stopping = await serve(LONG_DRAIN);
    const caller = new V1Caller(stopping.url, TOKEN);
    const params = sendParams('sleep 4s', { message: { messageId: 'blocking' } });
    const { id } = await caller.start('sleep 4s chunks 2');
    await eventually(() => caller.get(id), isWorking);
    const stream = await fetch(`${stopping.url}/a2a/tasks/${id}/stream`, {
      headers: { Authorization: `Bearer ${TOKEN}` },
    });
    const blocking = caller.call('SendMessage', params);
    await eventually(
      () => caller.list({ status: 'TASK_STATE_WORKING' }),
      ({ totalSize }) => totalSize === 2,
    );

    const stopped = stopping.process.stop();
    expect(await stream.text()).toMatch(/(?:^|\n\n)retry: \d+\n\n$/);
    const rejected = await blocking;
    expect(rejected.status).toBe(503);
    expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0);
    const rejectedAt = Date.now();
    expect(await stopped).toEqual({ code: 0, signal: null });

    const next = new V1Caller((await serve({ ACTA_LEASE_MS })).url, TOKEN);
    const replay = await next.call('SendMessage', params);
    expect(replay.body.result).toMatchObject({ task: { status: { state: 'TASK_STATE_COMPLETED' } } });
    const streams = await database.streams();
    expect(streams.size).toBe(2);
    for (const events of streams.values()) {
      expect(factsOf(events, 'RunStarted')).toHaveLength(1);
      expect(timeOf(events, 'TaskCompleted')).toBeGreaterThan(rejectedAt);
    }
  }, 120_000);

  it('stops being ready when it starts to drain, and stays live until it exits', async () => {
    const stopping = await serve(LONG_DRAIN);
    const caller = new V1Caller(stopping.url, TOKEN);
    const health = async (path: string) => (await http('GET', `${stopping.url}/health${path}`, null)).status;
    await caller.start('sleep 4s');
    const blocking = caller.call('SendMessage', sendParams('sleep 4s'));
    await eventually(
      () => caller.list({ status: 'TASK_STATE_WORKING' }),
      ({ totalSize }) => totalSize === 2,
    );
    expect([await health('/ready'), await health('')]).toEqual([200, 200]);

    const stopped = stopping.process.stop();
    expect((await blocking).status).toBe(503);
    expect(await Promise.all(['/ready', '', '/live'].map(health))).toEqual([503, 503, 200]);
    expect(await stopped).toEqual({ code: 0, signal: null });
  }, 60_000);

  it('closes a connection without a request immediately', async () => {
    const stopping = await serve(API_ONLY);
    const { hostname, port } = new URL(stopping.url);
    const idle = connect(Number(port), hostname);
    await once(idle, 'connect');
    let received = '';
    idle.setEncoding('utf8').on('data', (bytes: string) => (received += bytes));
    await new V1Caller(stopping.url, TOKEN).list();
    expect(await stopping.process.stop()).toEqual({ code: 0, signal: null });
    // A server that had waited for a request would have sent 408.
    if (!idle.closed) await once(idle, 'close');
    expect(received).toBe('');
  }, 60_000);
});
