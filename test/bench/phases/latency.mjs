import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { HttpConnection } from '../load/http-connection.mjs';
import { startActa, startActaWorker } from '../peers/peers.mjs';
import { here, measure } from '../processes.mjs';
import { quantiles } from '../quantiles.mjs';

const SENDS_PER_SECOND = 50;

/** @typedef {Awaited<ReturnType<import('../postgres.mjs').openPostgres>>} Postgres */

/** From a message being accepted by one process to its agent being entered in another, at 50 sends a second. */
export async function measureStarts(/** @type {Postgres} */ postgres, /** @type {{ sends: number }} */ { sends }) {
  return betweenProcesses(await postgres.database('starts'), 'starter', async ({ url, headers }, databaseUrl) => {
    const load = randomBytes(6).toString('hex');
    const connections = await Promise.all(
      Array.from({ length: 8 }, () => HttpConnection.open(new URL(url), { 'A2A-Version': '1.0', ...headers })),
    );
    const entered = new Map();
    /** @type {Promise<void>[]} */
    const answers = [];
    for (let nth = 0; nth < sends; nth += 1) {
      answers.push(send(connections[nth % connections.length], `${load}-${nth}`, entered));
      await sleep(1_000 / SENDS_PER_SECOND);
    }
    await Promise.all(answers);
    for (const connection of connections) connection.close();
    const accepted = await acceptTimes(databaseUrl);
    // The first sends pay for connections and compilation.
    const latencies = [...entered].slice(SENDS_PER_SECOND).map(([taskId, at]) => at - (accepted.get(taskId) ?? NaN));
    return { sends: latencies.length, ...quantiles(latencies) };
  });
}

/** Ten agents that say 50 tokens a second, read through a process that does not run them. */
export async function measureTokens(/** @type {Postgres} */ postgres) {
  return betweenProcesses(await postgres.database('tokens'), 'talker', async ({ url, headers }) => {
    const load = randomBytes(6).toString('hex');
    await measure('stream-readers.mjs', { url, headers, streams: 2, load: `${load}-warm-up` });
    const readings = await measure('stream-readers.mjs', { url, headers, streams: 10, load });
    /** @type {number[]} */
    const first = [];
    /** @type {number[]} */
    const later = [];
    for (const { frames } of readings) {
      const spoken = frames.flatMap((/** @type {any} */ { at, text }) =>
        text === undefined
          ? []
          : text
              .trim()
              .split(' ')
              .map((/** @type {string} */ said) => at - Number(said)),
      );
      first.push(spoken[0]);
      later.push(...spoken.slice(1));
    }
    return { tokens: later.length + first.length, first: quantiles(first), later: quantiles(later) };
  });
}

/** A server that runs nothing, and a worker beside it. */
async function betweenProcesses(
  /** @type {string} */ databaseUrl,
  /** @type {string} */ agent,
  /** @type {(server: { url: string, headers: Record<string, string> }, databaseUrl: string) => Promise<any>} */ work,
) {
  const agents = { ACTA_AGENTS: here('bench-agents.mjs') };
  const acta = await startActa(databaseUrl, { ...agents, ACTA_WORKER_CONCURRENCY: '0' });
  const worker = await startActaWorker(databaseUrl, agents);
  try {
    const url = acta.url.replace(/\/a2a$/, `/agents/${agent}/a2a`);
    return await work({ url, headers: acta.headers }, databaseUrl);
  } finally {
    await worker.stop();
    await acta.stop();
  }
}

async function send(
  /** @type {HttpConnection} */ connection,
  /** @type {string} */ id,
  /** @type {Map<string, number>} */ entered,
) {
  const message = { messageId: id, role: 'ROLE_USER', parts: [{ text: 'go' }] };
  const body = await connection.post(
    JSON.stringify({ jsonrpc: '2.0', id, method: 'SendMessage', params: { message } }),
  );
  const { task } = JSON.parse(body).result;
  entered.set(task.id, Number(/\d+/.exec(task.status.message.parts[0].text)?.[0]));
}

async function acceptTimes(/** @type {string} */ databaseUrl) {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  const { rows } = await client.query(`select task_id, recorded_at from event where type = 'MessageAccepted'`);
  await client.end();
  return new Map(rows.map((row) => [row.task_id, row.recorded_at.getTime()]));
}
