import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { SECRET, startActa } from '../peers/peers.mjs';
import { benchFile } from '../processes.mjs';
import { quantiles } from '../quantiles.mjs';

const SEND_EVERY_MS = 100;

/**
 * Measures the time from an event to its webhook for one tenant, alone and while each of many targets of another tenant
 * accepts a request and never responds. The settings are the defaults, so requests to these targets end after 10 s, and the
 * measurement covers several such rounds.
 */
export async function measureWebhooks(
  /** @type {Awaited<ReturnType<import('../postgres.mjs').openPostgres>>} */ postgres,
  /** @type {{ silentTargets: number, forMs: number }} */ { silentTargets, forMs },
) {
  const databaseUrl = await postgres.database('webhooks');
  const acta = await startActa(databaseUrl, { ACTA_PUSH_ALLOW_PRIVATE: 'true' });
  const silent = await Promise.all(Array.from({ length: silentTargets }, () => startReceiver('never')));
  const receiver = await startReceiver('accept');
  const client = new pg.Client(databaseUrl);
  try {
    await client.connect();
    const [hostile, measured] = [await createKey(databaseUrl, 'hostile'), await createKey(databaseUrl, 'measured')];
    const baseline = await measure(acta.url, measured, receiver, client, forMs);
    for (const { url } of silent) await send(acta.url, hostile, url);
    const besideSilent = await measure(acta.url, measured, receiver, client, forMs);
    const requested = silent.filter(({ arrivals }) => arrivals.size > 0).length;
    return { silentTargets, requested, baseline, besideSilent };
  } finally {
    await client.end();
    for (const { close } of [...silent, receiver]) close();
    await acta.stop();
  }
}

/** Sends tasks at a constant rate, and returns the quantiles of the times from their events to their webhooks in milliseconds. */
async function measure(
  /** @type {string} */ url,
  /** @type {string} */ token,
  /** @type {Awaited<ReturnType<typeof startReceiver>>} */ receiver,
  /** @type {pg.Client} */ client,
  /** @type {number} */ forMs,
) {
  /** @type {Promise<string>[]} */
  const sends = [];
  for (let nth = 0; nth < forMs / SEND_EVERY_MS; nth += 1) {
    sends.push(send(url, token, receiver.url));
    await sleep(SEND_EVERY_MS);
  }
  const ids = await Promise.all(sends);
  const pending = `select from push_delivery where task_id = any($1) and state = 'pending' limit 1`;
  while ((await client.query(pending, [ids])).rowCount !== 0) await sleep(50);
  const { rows } = await client.query(
    `select d.task_id, e.recorded_at from push_delivery d join event e using (tenant_id, task_id, version)
     where d.task_id = any($1) order by d.version`,
    [ids],
  );
  // The webhooks of a task arrive in the order of its events.
  const times = rows.map(
    (row) => (receiver.arrivals.get(row.task_id)?.shift() ?? Infinity) - row.recorded_at.getTime(),
  );
  return { webhooks: times.length, max: Math.max(...times), ...quantiles(times) };
}

/** Starts an HTTP server on a port of its own. It accepts every request, and responds or not. */
async function startReceiver(/** @type {'accept' | 'never'} */ behavior) {
  /** The times at which the webhooks of each task arrived, in milliseconds since 1970. @type {Map<string, number[]>} */
  const arrivals = new Map();
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk) => (text += chunk));
    request.on('end', () => {
      const id = /"taskId":"([^"]+)"/.exec(text)?.[1] ?? '';
      arrivals.set(id, [...(arrivals.get(id) ?? []), Date.now()]);
      if (behavior === 'accept') response.end();
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}/hook`, arrivals, close };
}

/** Creates a key of a member in a tenant, and returns its token. */
async function createKey(/** @type {string} */ databaseUrl, /** @type {string} */ tenant) {
  const cli = benchFile('../../dist/apps/cli/src/main.js');
  const key = ['--tenant', tenant, '--subject', 'bench', '--ring', 'ring:default'];
  const { stdout } = await promisify(execFile)(process.execPath, [cli, 'keys', 'create', ...key, '--json'], {
    env: { PATH: process.env.PATH, DATABASE_URL: databaseUrl, ACTA_SECRET_KEY: SECRET },
  });
  return JSON.parse(stdout).token;
}

/** Sends a message whose task has a webhook, waits for the outcome, and returns the id of the task. */
async function send(/** @type {string} */ url, /** @type {string} */ token, /** @type {string} */ webhook) {
  const params = {
    message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'hello' }] },
    configuration: { taskPushNotificationConfig: { url: webhook } },
  };
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'A2A-Version': '1.0', Authorization: `Bearer ${token}` },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params }),
  });
  const { result, error } = await response.json();
  if (result === undefined) throw new Error(`SendMessage failed: ${JSON.stringify(error)}`);
  return result.task.id;
}
