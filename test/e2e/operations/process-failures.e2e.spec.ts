import { describe, expect, it } from '@jest/globals';
import { breaksOf, DatabaseView, terminalEventsOf } from '../../support/database/database-view.js';
import { eventually, V1Caller, type WireTask } from '../../support/clients/rpc.js';
import { startServer, startWorker, TOKEN } from '../../support/processes/start-server.js';
import { createTestDatabase } from '../../support/database/test-database.js';

const isCompleted = ({ status }: WireTask) => status.state === 'TASK_STATE_COMPLETED';

describe('A fleet that loses a process', () => {
  // F19
  it('discards the writes of a worker that was suspended beyond its lease', async () => {
    const env = { ACTA_LEASE_MS: '1500', ACTA_WORKER_CONCURRENCY: '0' };
    const server = await startServer({ env });
    const database = new DatabaseView(server.databaseUrl!);
    const caller = new V1Caller(server.url, TOKEN);
    const suspended = await startWorker(server.databaseUrl!, { ACTA_LEASE_MS: '1500' });
    const { id } = await caller.start('sleep 1s chunks 3');
    await eventually(
      () => caller.get(id),
      ({ status }) => status.state === 'TASK_STATE_WORKING',
    );
    suspended.kill('SIGSTOP');

    const successor = await startWorker(server.databaseUrl!, { ACTA_LEASE_MS: '1500' });
    const done = await eventually(() => caller.get(id), isCompleted);
    expect(done.artifacts?.[0]?.parts).toEqual([{ text: 'SLEEP 1S CHUNKS 3' }]);
    const before = (await database.streams()).get(id)!;

    suspended.kill('SIGCONT');
    expect((await successor.stop()).code).toBe(0);
    // A worker that completes a new task has also finished its attempts to write the first one.
    expect(await caller.send('after the suspension')).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } });
    const after = (await database.streams()).get(id)!;
    expect(after).toEqual(before);
    expect(await caller.get(id)).toEqual(done);

    const types = after.map(({ type }) => type);
    const lost = types.indexOf('RunLost');
    const { runId } = JSON.parse(after[lost]!.facts) as { runId: string };
    const later = after.slice(lost + 1).map(({ facts }) => (JSON.parse(facts) as { runId?: string }).runId);
    expect(later).not.toContain(runId);
    expect(types.filter((type) => type === 'RunStarted')).toHaveLength(2);
    expect(breaksOf(after)).toEqual([]);
    await suspended.stop();
    await database.close();
    await server.stop();
  }, 180_000);

  // A part of F37
  it('completes 200 running tasks after kill -9 of the server, each once and with a valid chain', async () => {
    const shared = await createTestDatabase();
    const database = new DatabaseView(shared.url);
    const env = { ACTA_LEASE_MS: '2000', ACTA_WORKER_CONCURRENCY: '256', ACTA_MAX_ATTEMPTS: '20' };
    const first = await startServer({ databaseUrl: shared.url, env });
    const sender = new V1Caller(first.url, TOKEN);
    const acknowledged = await Promise.all(
      Array.from({ length: 200 }, (_, index) => sender.start(`no ${index} sleep 2s`)),
    );
    first.process.kill('SIGKILL');
    await first.process.exited;
    const interrupted = await database.streams();
    expect(interrupted.size).toBe(200);
    expect([...interrupted.values()].flatMap(terminalEventsOf).length).toBeLessThan(200);

    const second = await startServer({ databaseUrl: shared.url, env });
    const caller = new V1Caller(second.url, TOKEN);
    await eventually(
      () => caller.list({ status: 'TASK_STATE_COMPLETED', pageSize: 1 }),
      ({ totalSize }) => totalSize === 200,
    );
    const streams = await database.streams();
    for (const { id } of acknowledged) {
      expect(terminalEventsOf(streams.get(id)!)).toEqual(['TaskCompleted']);
      expect(breaksOf(streams.get(id)!)).toEqual([]);
    }
    expect((await caller.get(acknowledged[7]!.id)).artifacts?.[0]?.parts).toEqual([{ text: 'NO 7 SLEEP 2S' }]);
    expect((await database.rowCounts())['run_queue']).toBe(0);
    await second.stop();
    await database.close();
    await shared.drop();
  }, 180_000);
});
