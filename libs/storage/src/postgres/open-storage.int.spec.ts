import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import {
  createEmptyDatabase,
  createTestDatabase,
  type TestDatabase,
} from '../../../../test/support/database/test-database.js';
import { StorageError } from '../storage-error.js';
import { connectToDatabase, openStorage, type Storage } from './open-storage.js';

const SECRET = 'the secret of the storage tests, long enough';

let testDatabase: TestDatabase;
beforeEach(async () => {
  testDatabase = await createTestDatabase();
});
afterEach(() => testDatabase?.drop());

const options = (databaseUrl = testDatabase.url, secretKey: string | null = SECRET) => ({
  databaseUrl,
  ownerDatabaseUrl: null,
  dataDir: join(tmpdir(), 'acta-does-not-exist'),
  secretKey,
  maxConnections: 2,
});

async function startupErrorFor(databaseUrl: string): Promise<string> {
  const error: unknown = await openStorage(options(databaseUrl)).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(StorageError);
  const { message } = error as Error;
  expect(message).toMatch(/^DATABASE_URL [^\n]+\.$/);
  expect(message).not.toContain('hunter2');
  return message;
}

describe('openStorage with DATABASE_URL', () => {
  it('reports that the database became unavailable if the migration loses its connection', async () => {
    const empty = await createEmptyDatabase();
    const client = new pg.Client(empty.ownerUrl);
    await client.connect();
    // The migration waits for this lock until its connection is terminated.
    await client.query(`select pg_advisory_lock(x'41435441'::integer, 3)`);
    const opening = openStorage(options(empty.ownerUrl)).catch((error: unknown) => error);
    for (let terminated = 0; terminated === 0; await delay(20)) {
      await client.query('select pg_stat_clear_snapshot()');
      const { rowCount } = await client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and wait_event_type = 'Lock'`,
      );
      terminated = rowCount!;
    }
    const error = await opening;
    await client.end();
    await empty.drop();
    expect(error).toBeInstanceOf(StorageError);
    expect((error as Error).message).toMatch(
      /^The database became unavailable during startup \(.+\): start Acta again/,
    );
  });

  it('opens a migrated database in each of three concurrent calls on an empty one', async () => {
    const empty = await createEmptyDatabase();
    const opened = await Promise.all([1, 2, 3].map(() => openStorage(options(empty.ownerUrl))));
    for (const { database } of opened) {
      expect(database.epoch).toBe(1);
      expect(await database.now()).toBeGreaterThan(0);
    }
    await Promise.all(opened.map((storage) => storage.close()));
    await empty.drop();
  });

  // F40
  it('rejects a database that was created with a different secret, and changes nothing in it', async () => {
    const first = await openStorage(options());
    await first.close();
    await expect(openStorage(options(testDatabase.url, `${SECRET}!`))).rejects.toThrow(/different secret/);
    const again = await openStorage(options());
    await again.close();
  });

  it('rejects a missing secret', async () => {
    await expect(openStorage(options(testDatabase.url, null))).rejects.toThrow(/ACTA_SECRET_KEY/);
  });

  it('reports in one sentence, without the password, why it cannot use the database', async () => {
    const change = (edit: (url: URL) => void) => {
      const url = new URL(testDatabase.url);
      edit(url);
      return url.href;
    };
    expect(await startupErrorFor('postgresql://acta:hunter2@127.0.0.1:1/acta')).toContain('nothing listens there');
    expect(await startupErrorFor('postgresql://acta:hunter2@nowhere.invalid/acta')).toContain('host name is not known');
    expect(await startupErrorFor('postgresql://acta:hunter2%ff@127.0.0.1/acta')).toContain('percent-encoded');
    expect(await startupErrorFor(change((url) => (url.pathname = '/missing')))).toContain(
      'the database does not exist',
    );
    const stranger = change((url) => {
      if (url.searchParams.has('user')) url.searchParams.set('user', 'stranger');
      else url.username = 'stranger';
    });
    expect(await startupErrorFor(stranger)).toContain('rejected the user stranger');
  });
});

describe('openStorage without DATABASE_URL', () => {
  it('uses a Postgres and a secret in the data directory, and both again in the next call', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'acta-open-'));
    const embedded = { databaseUrl: null, ownerDatabaseUrl: null, dataDir, secretKey: null };
    const [one, other] = await Promise.all([openStorage(embedded), openStorage(embedded)]);
    expect(one.secret.fingerprint()).toBe(other.secret.fingerprint());
    const { rows } = await one.database.pool.query<{ role: string }>('select current_user as role');
    expect(rows).toEqual([{ role: 'acta_app' }]);
    await expect(one.database.pool.query('delete from event')).rejects.toThrow('permission denied for table event');
    await one.close();
    expect(await other.database.now()).toBeGreaterThan(0);
    await other.close();
    const again = await openStorage(embedded);
    expect(again.secret.fingerprint()).toBe(one.secret.fingerprint());
    await again.close();
    await rm(dataDir, { recursive: true });
  }, 60_000);

  it('restarts a Postgres that was killed, with three concurrent users, and every user can query it again', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'acta-open-'));
    const embedded = { databaseUrl: null, ownerDatabaseUrl: null, dataDir, secretKey: null };
    const users = await Promise.all([1, 2, 3].map(() => openStorage(embedded)));
    const pidFile = join(dataDir, 'postgres', 'postmaster.pid');
    const postmaster = async () => parseInt(await readFile(pidFile, 'utf8').catch(() => '0'), 10);
    const responds = ({ database }: Storage) =>
      database.now().then(
        () => true,
        () => false,
      );
    for (const user of users) await responds(user);
    for (let round = 0; round < 2; round += 1) {
      const killed = await postmaster();
      process.kill(killed, 'SIGKILL');
      while ((await postmaster()) === killed) await delay(20);
      for (const user of users) while (!(await responds(user))) await delay(20);
    }
    const [first, ...others] = users;
    await first!.close();
    expect(await responds(others[0]!)).toBe(true);
    await Promise.all(others.map((storage) => storage.close()));
    expect(await postmaster()).toBe(0);
    await rm(dataDir, { recursive: true });
  }, 90_000);

  it('returns a storage that can be closed after its Postgres was killed', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'acta-open-'));
    const storage = await openStorage({ databaseUrl: null, ownerDatabaseUrl: null, dataDir, secretKey: null });
    process.kill(parseInt(await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8'), 10), 'SIGKILL');
    await storage.close();
    // The next call recovers the database as after any other crash.
    const next = await openStorage({ databaseUrl: null, ownerDatabaseUrl: null, dataDir, secretKey: null });
    expect(await next.database.now()).toBeGreaterThan(0);
    await next.close();
    await rm(dataDir, { recursive: true });
  }, 90_000);
});

describe('connectToDatabase', () => {
  it('does not change the database', async () => {
    const connection = await connectToDatabase(options());
    const { rows } = await connection.database.pool.query<{ n: number }>('select count(*)::int as n from server_state');
    expect(rows[0]!.n).toBe(0);
    await connection.close();
  });
});
