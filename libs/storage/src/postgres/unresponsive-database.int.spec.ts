import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { UnresponsiveProxy } from '../../../../test/support/database/unresponsive-proxy.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database/test-database.js';
import { TaskWakeups } from '../wakeups/task-wakeups.js';
import { Database, type Executor } from './database.js';
import { isUnavailable } from './sql-state.js';

let testDatabase: TestDatabase;
let proxy: UnresponsiveProxy;
let database: Database;
beforeEach(async () => {
  testDatabase = await createTestDatabase();
  proxy = await UnresponsiveProxy.inFrontOf(testDatabase.url);
  database = new Database(proxy.url, { maxConnections: 1, queryTimeoutMs: 1_000 });
});
afterEach(async () => {
  await database?.close();
  await proxy?.close();
  await testDatabase?.drop();
});

const pidOf = async (executor: Executor) =>
  (await executor.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid;
const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: unknown) => error,
  );

const CALLS: Record<string, () => Promise<unknown>> = {
  'a statement': () => database.pool.query('select 1'),
  'a statement of Kysely': () => sql`select 1`.execute(database.kysely),
  'a transaction': () => database.transaction((executor) => executor.query('select 1')),
  'a transaction that ignores the error': () =>
    database.transaction((executor) => executor.query('select 1').catch(() => undefined)),
};

describe('A database that does not respond', () => {
  it.each(Object.keys(CALLS))('makes %s fail after the timeout, and its connection is not used again', async (call) => {
    const before = await pidOf(database.pool);
    proxy.stopForwarding();
    expect(isUnavailable(await errorOf(CALLS[call]!()))).toBe(true);
    expect(await pidOf(database.pool)).not.toBe(before);
  });

  it('does not commit a statement after its caller got a timeout', async () => {
    await testDatabase.asOwner('create table late (time timestamptz); grant all on late to public');
    const slow = database.pool.query('insert into late select clock_timestamp() from pg_sleep(3)');
    expect(isUnavailable(await errorOf(slow))).toBe(true);
    const direct = new Database(testDatabase.url);
    const active = `select from pg_stat_activity where datname = current_database() and query like 'insert into late%' and state = 'active'`;
    while ((await direct.pool.query(active)).rowCount! > 0);
    expect((await direct.pool.query('select from late')).rowCount).toBe(0);
    await direct.close();
  });

  it('makes a caller that waits for a free connection fail after the timeout', async () => {
    const waiting = database.transaction(() => errorOf(database.pool.query('select 1')));
    expect(isUnavailable(await waiting)).toBe(true);
  });

  it('does not end a slow statement of a pool without a timeout', async () => {
    const withoutTimeout = new Database(testDatabase.url, { maxConnections: 1 });
    const { rows } = await withoutTimeout.pool.query<{ slept: string }>('select pg_sleep(1.5)::text as slept');
    expect(rows).toEqual([{ slept: '' }]);
    await withoutTimeout.close();
  });

  it('makes TaskWakeups open a new connection, over which it receives notifications again', async () => {
    const behindProxy = new Database(proxy.url);
    const direct = new Database(testDatabase.url);
    const [receiver, sender] = [new TaskWakeups(behindProxy), new TaskWakeups(direct)];
    await receiver.start();
    const isConnected = async (pid: number) =>
      (await direct.pool.query('select from pg_stat_activity where pid = $1', [pid])).rowCount === 1;
    const { rows } = await direct.pool.query<{ pid: number }>(
      `select pid from pg_stat_activity
       where datname = current_database() and application_name = 'acta-wakeups'`,
    );
    await sender.start();
    proxy.stopForwarding();
    while (await isConnected(rows[0]!.pid));
    let received = '';
    receiver.queuedAgents.subscribe((agent) => (received = agent));
    // The sender sends nothing until it has detected that the receiver listens again.
    while (received !== 'tester') {
      sender.publish({ tenantId: 'tenant', taskId: 'task', version: 1, queuedAgent: 'tester' });
      await direct.pool.query('select 1');
    }
    await Promise.all([receiver.close(), sender.close()]);
    await Promise.all([behindProxy.close(), direct.close()]);
  });
});
