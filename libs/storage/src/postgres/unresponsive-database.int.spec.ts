import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { UnresponsiveProxy } from '../../../../test/support/database/unresponsive-proxy.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database/test-database.js';
import { Database, type Executor } from './database.js';
import { TaskWakeups } from '../wakeups/task-wakeups.js';
import { isUnavailable } from './sql-state.js';

let shared: TestDatabase;
let proxy: UnresponsiveProxy;
let database: Database;
beforeEach(async () => {
  shared = await createTestDatabase();
  proxy = await UnresponsiveProxy.inFrontOf(shared.url);
  database = new Database(proxy.url, { maxConnections: 1, answerMs: 1_000 });
});
afterEach(async () => {
  await database?.close();
  await proxy?.close();
  await shared?.drop();
});

const pidOf = async (executor: Executor) =>
  (await executor.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid;
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: unknown) => error,
  );

const WAYS: Record<string, () => Promise<unknown>> = {
  'a statement': () => database.pool.query('select 1'),
  'a statement of Kysely': () => sql`select 1`.execute(database.kysely),
  'a transaction': () => database.transaction((executor) => executor.query('select 1')),
  'a transaction that does not care': () =>
    database.transaction((executor) => executor.query('select 1').catch(() => undefined)),
};

for (const [what, ask] of Object.entries(WAYS)) {
  it(`is given up by ${what}, and its connection is never lent again`, async () => {
    const before = await pidOf(database.pool);
    proxy.stopForwarding();
    expect(isUnavailable(await failureOf(ask()))).toBe(true);
    expect(await pidOf(database.pool)).not.toBe(before);
  });
}

it('does nothing any more of what its caller was told that it was not done', async () => {
  await database.pool.query('create table late (at timestamptz)');
  const slow = database.pool.query('insert into late select clock_timestamp() from pg_sleep(3)');
  expect(isUnavailable(await failureOf(slow))).toBe(true);
  const direct = new Database(shared.url);
  const busy = `select from pg_stat_activity where datname = current_database() and query like 'insert into late%' and state = 'active'`;
  while ((await direct.pool.query(busy)).rowCount! > 0);
  expect((await direct.pool.query('select from late')).rowCount).toBe(0);
  await direct.close();
});

it('holds nobody for ever who waits for a connection', async () => {
  const held = database.transaction(() => failureOf(database.pool.query('select 1')));
  expect(isUnavailable(await held)).toBe(true);
});

it('is waited for by whoever sets no limit', async () => {
  const patient = new Database(shared.url, { maxConnections: 1 });
  const { rows } = await patient.pool.query<{ slept: string }>('select pg_sleep(1.5)::text as slept');
  expect(rows).toEqual([{ slept: '' }]);
  await patient.close();
});

it('is left for another connection by whoever listens to it, who then hears again', async () => {
  const listening = new Database(proxy.url);
  const direct = new Database(shared.url);
  const [deaf, other] = [new TaskWakeups(listening), new TaskWakeups(direct)];
  await deaf.start();
  const listens = async (pid: number) =>
    (await direct.pool.query('select from pg_stat_activity where pid = $1', [pid])).rowCount === 1;
  const { rows } = await direct.pool.query<{ pid: number }>(
    `select pid from pg_stat_activity
     where datname = current_database() and application_name = 'acta-wakeups'`,
  );
  await other.start();
  proxy.stopForwarding();
  while (await listens(rows[0]!.pid));
  let heard = '';
  deaf.queued.subscribe((agent) => (heard = agent));
  // It listens a moment after it is back, and until then the other may think itself alone.
  while (heard !== 'tester') {
    other.publish({ tenantId: 'tenant', taskId: 'task', version: 1, queuedFor: 'tester' });
    await direct.pool.query('select 1');
  }
  await Promise.all([deaf.close(), other.close()]);
  await Promise.all([listening.close(), direct.close()]);
});
