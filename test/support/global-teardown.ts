import { readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

/** Removes the databases and the role of this run, and the servers of earlier runs that were interrupted. */
export default async function globalTeardown(): Promise<void> {
  const url = process.env['TEST_DATABASE_URL'];
  if (url !== undefined) await dropDatabases(url, process.env['ACTA_TEST_RUN'] ?? '');
  for (const name of await readdir(tmpdir())) {
    const run = Number(/^acta-test-(\d+)-/.exec(name)?.[1]);
    if (run === process.pid || (run > 0 && !isAlive(run))) await stopPostgres(join(tmpdir(), name));
  }
}

async function dropDatabases(url: string, run: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query<{ name: string }>(
    `SELECT datname AS name FROM pg_database WHERE starts_with(datname, 'acta_test_' || $1)`,
    [run],
  );
  for (const { name } of rows)
    await client.query(`DROP DATABASE IF EXISTS ${client.escapeIdentifier(name)} WITH (FORCE)`);
  await client.query(`DROP ROLE IF EXISTS ${client.escapeIdentifier(`acta_test_${run}_app`)}`);
  await client.end();
}

// The data is deleted anyway, so the server does not need a clean shutdown.
async function stopPostgres(dataDir: string): Promise<void> {
  const pidFile = join(dataDir, 'postgres', 'postmaster.pid');
  const pid = parseInt(await readFile(pidFile, 'utf8').catch(() => ''), 10);
  if (pid > 0 && isAlive(pid)) process.kill(pid, 'SIGQUIT');
  while (pid > 0 && (await readFile(pidFile).catch(() => undefined)) && isAlive(pid)) await delay(20);
  await rm(dataDir, { recursive: true, force: true });
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
