import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { HttpConnection } from '../load/http-connection.mjs';
import { startActa, startActaWorker } from '../peers/peers.mjs';
import { benchFile, measure } from '../processes.mjs';
import { quantiles } from '../quantiles.mjs';

const SENDS_PER_SECOND = 50;

/** @typedef {Awaited<ReturnType<import('../postgres.mjs').openPostgres>>} Postgres */

/** Measures the time from the acceptance of a message in one process to the start of its agent in another, at 50 sends per second. */
export async function measureStarts(/** @type {Postgres} */ postgres, /** @type {{ sends: number }} */ { sends }) {
  return betweenProcesses(await postgres.database('starts'), 'starter', async ({ url, headers }, databaseUrl) => {
    const prefix = randomBytes(6).toString('hex');
    const connections = await Promise.all(
      Array.from({ length: 8 }, () => HttpConnection.open(new URL(url), { 'A2A-Version': '1.0', ...headers })),
    );
    const entered = new Map();
    /** The last send of each connection. A slow response delays the next send of its connection. */
    const lastSends = connections.map(() => Promise.resolve());
    for (let nth = 0; nth < sends; nth += 1) {
      const index = nth % connections.length;
      lastSends[index] = lastSends[index].then(() => send(connections[index], `${prefix}-${nth}`, entered));
      await sleep(1_000 / SENDS_PER_SECOND);
    }
    await Promise.all(lastSends);
    for (const connection of connections) connection.close();
    const accepted = await acceptTimes(databaseUrl);
    // The first sends include the set-up of connections and compilation.
    const latencies = [...entered]
      .slice(SENDS_PER_SECOND)
      .map(([taskId, time]) => time - (accepted.get(taskId) ?? NaN));
    return { sends: latencies.length, ...quantiles(latencies) };
  });
}

/** Measures the latency of 10 agents that write 50 tokens per second, read through a process that does not run them. */
export async function measureTokens(/** @type {Postgres} */ postgres) {
  return betweenProcesses(await postgres.database('tokens'), 'tokens', async ({ url, headers }) => {
    const prefix = randomBytes(6).toString('hex');
    await measure('load/stream-readers.mjs', { url, headers, streams: 2, prefix: `${prefix}-warm-up` });
    const readings = await measure('load/stream-readers.mjs', { url, headers, streams: 10, prefix });
    /** @type {number[]} */
    const first = [];
    /** @type {number[]} */
    const later = [];
    for (const { frames } of readings) {
      const written = frames.flatMap((/** @type {any} */ { time, text }) =>
        text === undefined
          ? []
          : text
              .trim()
              .split(' ')
              .map((/** @type {string} */ token) => time - Number(token)),
      );
      first.push(written[0]);
      later.push(...written.slice(1));
    }
    return { tokens: later.length + first.length, first: quantiles(first), later: quantiles(later) };
  });
}

/** Runs the work on a server that runs no agents, with one worker. */
async function betweenProcesses(
  /** @type {string} */ databaseUrl,
  /** @type {string} */ agent,
  /** @type {(server: { url: string, headers: Record<string, string> }, databaseUrl: string) => Promise<any>} */ work,
) {
  const agents = { ACTA_AGENTS: benchFile('peers/bench-agents.mjs') };
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
