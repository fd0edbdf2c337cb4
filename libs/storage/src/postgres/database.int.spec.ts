import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database/test-database.js';
import { Database, type Executor } from './database.js';

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = new Database(testDatabase.url, { maxConnections: 2 });
}, 90_000);
afterAll(async () => {
  await database?.close();
  await testDatabase?.drop();
});

const pidOf = async (executor: Executor) =>
  (await executor.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid;

describe('Database', () => {
  it('fails a transaction whose connection breaks between two statements, and runs the next one on a new connection', async () => {
    const broken = database.transaction(async (executor) => {
      const ended = new Promise<void>((resolve) => (executor as unknown as pg.Client).once('end', resolve));
      await database.pool.query('select pg_terminate_backend($1)', [await pidOf(executor)]);
      await ended;
      await executor.query('select 1');
    });
    await expect(broken).rejects.toThrow(/not queryable|terminat/i);
    await expect(database.transaction(pidOf)).resolves.toEqual(expect.any(Number));
  });
});
