import { randomBytes } from 'node:crypto';
import { HttpConnection } from './http-connection.mjs';
import { quantiles } from '../quantiles.mjs';

// Sends blocking messages with new ids, one after the other on each connection. One wrong response ends the bench.
const { url, headers, connections, warmUpMs, forMs } = JSON.parse(process.argv[2]);
const prefix = randomBytes(6).toString('hex');
const start = performance.now() + warmUpMs;
const end = start + forMs;
/** @type {number[]} */
const latencies = [];
let responses = 0;

await Promise.all(
  Array.from({ length: connections }, async (_, worker) => {
    const connection = await HttpConnection.open(new URL(url), { 'A2A-Version': '1.0', ...headers });
    let sent = performance.now();
    for (let nth = 0; sent < end; nth += 1) {
      const id = `${prefix}-${worker}-${nth}`;
      check(id, await connection.post(requestOf(id)));
      responses += 1;
      const now = performance.now();
      if (sent >= start && now <= end) latencies.push(now - sent);
      sent = now;
    }
    connection.close();
  }),
);
console.log(JSON.stringify({ responses, perSecond: (latencies.length * 1000) / forMs, ...quantiles(latencies) }));

function requestOf(/** @type {string} */ id) {
  const message = { messageId: id, role: 'ROLE_USER', parts: [{ text: `hello from ${id}` }] };
  return JSON.stringify({ jsonrpc: '2.0', id, method: 'SendMessage', params: { message } });
}

function check(/** @type {string} */ id, /** @type {string} */ body) {
  const { id: responseId, result } = JSON.parse(body);
  const task = result?.task;
  const isCorrect =
    responseId === id &&
    task?.status?.state === 'TASK_STATE_COMPLETED' &&
    task.artifacts?.length === 1 &&
    task.artifacts[0].parts[0].text === `HELLO FROM ${id.toUpperCase()}`;
  if (!isCorrect) throw new Error(`wrong response to ${id}: ${body.slice(0, 500)}`);
}
