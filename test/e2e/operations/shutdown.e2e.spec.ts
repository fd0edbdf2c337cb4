import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { StoredEvent } from '@app/storage';
import { DatabaseView } from '../../support/database/database-view.js';
import { eventually, http, sendParams, V1Caller, type WireTask } from '../../support/clients/rpc.js';
import { type RunningServer, startServer, startWorker, TOKEN } from '../../support/processes/start-server.js';
import { createTestDatabase, type TestDatabase } from '../../support/database/test-database.js';

/** Nobody's run is to be taken back for want of a heartbeat here. */
const ACTA_LEASE_MS = '60000';
/** Runs that are to end by themselves have the time for it. */
const PATIENT = { ACTA_LEASE_MS, ACTA_DRAIN_MS: '10000' };
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

it('hands runs back that do not end in time: another worker has them without waiting for the lease, and no attempt is used', async () => {
  const caller = new V1Caller((await serve(API_ONLY)).url, TOKEN);
  const leaving = await startWorker(shared.url, PATIENT);
  const long = await caller.start('sleep 14s');
  const short = await caller.start('sleep 2s');
  for (const { id } of [long, short]) await eventually(() => caller.get(id), isWorking);

  const stopped = leaving.stop();
  const afterwards = await caller.start('who takes me');
  const ended = await eventually(() => caller.get(short.id), isCompleted);
  // It took nothing more on while it let its runs end.
  expect((await caller.get(afterwards.id)).status.state).toBe('TASK_STATE_SUBMITTED');
  running.push(await startWorker(shared.url, { ACTA_LEASE_MS }));
  expect(await stopped).toEqual({ code: 0, signal: null });
  await eventually(() => caller.get(afterwards.id), isCompleted);
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
  // At once, on a busy machine too: nobody waited for the lease.
  expect(timeOf(events, 'RunStarted') - timeOf(events, 'RunLost')).toBeLessThan(Number(ACTA_LEASE_MS));
}, 120_000);

it('tells streams and held sends at once to come back, while the runs of the same process go on to their end', async () => {
  const leaving = await serve(PATIENT);
  const caller = new V1Caller(leaving.url, TOKEN);
  const params = sendParams('sleep 4s', { message: { messageId: 'held' } });
  const { id } = await caller.start('sleep 4s chunks 2');
  await eventually(() => caller.get(id), isWorking);
  const stream = await fetch(`${leaving.url}/a2a/tasks/${id}/stream`, {
    headers: { Authorization: `Bearer ${TOKEN}` },
  });
  const held = caller.call('SendMessage', params);
  await eventually(
    () => caller.list({ status: 'TASK_STATE_WORKING' }),
    ({ totalSize }) => totalSize === 2,
  );

  const stopped = leaving.process.stop();
  expect(await stream.text()).toMatch(/(?:^|\n\n)retry: \d+\n\n$/);
  const refused = await held;
  expect(refused.status).toBe(503);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  const answeredAt = Date.now();
  expect(await stopped).toEqual({ code: 0, signal: null });

  const next = new V1Caller((await serve({ ACTA_LEASE_MS })).url, TOKEN);
  const replay = await next.call('SendMessage', params);
  expect(replay.body.result).toMatchObject({ task: { status: { state: 'TASK_STATE_COMPLETED' } } });
  const streams = await database.streams();
  expect(streams.size).toBe(2);
  for (const events of streams.values()) {
    expect(factsOf(events, 'RunStarted')).toHaveLength(1);
    expect(timeOf(events, 'TaskCompleted')).toBeGreaterThan(answeredAt);
  }
}, 120_000);

it('is not ready any more from the moment it drains, and alive to the end', async () => {
  const leaving = await serve(PATIENT);
  const caller = new V1Caller(leaving.url, TOKEN);
  const health = async (path: string) => (await http('GET', `${leaving.url}/health${path}`, null)).status;
  await caller.start('sleep 4s');
  const held = caller.call('SendMessage', sendParams('sleep 4s'));
  await eventually(
    () => caller.list({ status: 'TASK_STATE_WORKING' }),
    ({ totalSize }) => totalSize === 2,
  );
  expect([await health('/ready'), await health('')]).toEqual([200, 200]);

  const stopped = leaving.process.stop();
  expect((await held).status).toBe(503);
  expect(await Promise.all(['/ready', '', '/live'].map(health))).toEqual([503, 503, 200]);
  expect(await stopped).toEqual({ code: 0, signal: null });
}, 60_000);

it('does not wait for a connection on which nobody has asked anything', async () => {
  const leaving = await serve(API_ONLY);
  const { hostname, port } = new URL(leaving.url);
  const silent = connect(Number(port), hostname);
  await once(silent, 'connect');
  let heard = '';
  silent.setEncoding('utf8').on('data', (bytes: string) => (heard += bytes));
  await new V1Caller(leaving.url, TOKEN).list();
  expect(await leaving.process.stop()).toEqual({ code: 0, signal: null });
  // It was hung up on; had it been waited for, it would have been told that its time is over (408).
  if (!silent.closed) await once(silent, 'close');
  expect(heard).toBe('');
}, 60_000);
