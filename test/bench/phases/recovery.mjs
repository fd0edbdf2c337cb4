import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { HttpConnection } from '../load/http-connection.mjs';
import { startActa, startActaWorker } from '../peers/peers.mjs';
import { benchFile } from '../processes.mjs';

const RUNS = 16;

/**
 * Measures how long the slowest run of a lost worker takes to recover, in milliseconds, with default settings. After `kill -9`:
 * from the signal to the restart on a different worker. After SIGTERM: from the signal to the release, and to the restart.
 *
 * @param {Awaited<ReturnType<import('../postgres.mjs').openPostgres>>} postgres
 */
export async function measureRecovery(postgres) {
  const databaseUrl = await postgres.database('recovery');
  const env = { ACTA_AGENTS: benchFile('peers/bench-agents.mjs') };
  const acta = await startActa(databaseUrl, { ...env, ACTA_WORKER_CONCURRENCY: '0' });
  const client = new pg.Client(databaseUrl);
  await client.connect();
  const workers = [await startActaWorker(databaseUrl, env)];
  try {
    await submit(acta);
    await latest(client, 'RunStarted', 1);
    workers.push(await startActaWorker(databaseUrl, env));
    const killedAt = Date.now();
    process.kill(workers[0].pid, 'SIGKILL');
    const restartedAfterKill = (await latest(client, 'RunStarted', 2)) - killedAt;
    workers.push(await startActaWorker(databaseUrl, env));
    const stoppedAt = Date.now();
    process.kill(workers[1].pid, 'SIGTERM');
    const released = (await latest(client, 'RunRetried', 2)) - stoppedAt;
    const restartedAfterStop = (await latest(client, 'RunStarted', 3)) - stoppedAt;
    return { runs: RUNS, restartedAfterKill, released, restartedAfterStop };
  } finally {
    await client.end();
    await Promise.all(workers.map((worker) => worker.stop()));
    await acta.stop();
  }
}

async function submit(/** @type {{ url: string, headers: Record<string, string> }} */ { url, headers }) {
  const agent = new URL(url.replace(/\/a2a$/, '/agents/sleeper/a2a'));
  const connection = await HttpConnection.open(agent, { 'A2A-Version': '1.0', ...headers });
  const prefix = randomBytes(6).toString('hex');
  for (let nth = 0; nth < RUNS; nth += 1) {
    const message = { messageId: `${prefix}-${nth}`, role: 'ROLE_USER', parts: [{ text: 'go' }] };
    const params = { message, configuration: { returnImmediately: true } };
    const body = await connection.post(JSON.stringify({ jsonrpc: '2.0', id: nth, method: 'SendMessage', params }));
    if (JSON.parse(body).result?.task === undefined)
      throw new Error(`SendMessage returned no task: ${body.slice(0, 500)}`);
  }
  connection.close();
}

/** Waits until every run has its nth event of a type, and returns the time of the latest one. */
async function latest(/** @type {pg.Client} */ client, /** @type {string} */ type, /** @type {number} */ nth) {
  for (const end = Date.now() + 120_000; Date.now() < end; await sleep(50)) {
    const { rows } = await client.query(
      `select recorded_at from (select recorded_at, row_number() over (partition by task_id order by version) as nth
        from event where type = $1) as numbered where nth = $2`,
      [type, nth],
    );
    if (rows.length === RUNS) return Math.max(...rows.map((row) => row.recorded_at.getTime()));
  }
  throw new Error(`fewer than ${RUNS} runs have ${nth} ${type} events after 120 s`);
}
