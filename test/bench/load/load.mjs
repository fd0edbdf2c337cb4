import { randomBytes } from 'node:crypto';
import { HttpConnection } from './http-connection.mjs';
import { quantiles } from '../quantiles.mjs';

// Blocking sends with a new message id each, on every connection as fast as it answers. One wrong answer ends the bench.
const { url, headers, connections, warmUpMs, forMs } = JSON.parse(process.argv[2]);
const load = randomBytes(6).toString('hex');
const start = performance.now() + warmUpMs;
const end = start + forMs;
/** @type {number[]} */
const latencies = [];
let answered = 0;

await Promise.all(
  Array.from({ length: connections }, async (_, worker) => {
    const connection = await HttpConnection.open(new URL(url), { 'A2A-Version': '1.0', ...headers });
    let sent = performance.now();
    for (let nth = 0; sent < end; nth += 1) {
      const id = `${load}-${worker}-${nth}`;
      check(id, await connection.post(requestOf(id)));
      answered += 1;
      const now = performance.now();
      if (sent >= start && now <= end) latencies.push(now - sent);
      sent = now;
    }
    connection.close();
  }),
);
console.log(JSON.stringify({ answered, perSecond: (latencies.length * 1000) / forMs, ...quantiles(latencies) }));

function requestOf(/** @type {string} */ id) {
  const message = { messageId: id, role: 'ROLE_USER', parts: [{ text: `hello from ${id}` }] };
  return JSON.stringify({ jsonrpc: '2.0', id, method: 'SendMessage', params: { message } });
}

function check(/** @type {string} */ id, /** @type {string} */ body) {
  const { id: answerTo, result } = JSON.parse(body);
  const task = result?.task;
  const right =
    answerTo === id &&
    task?.status?.state === 'TASK_STATE_COMPLETED' &&
    task.artifacts?.length === 1 &&
    task.artifacts[0].parts[0].text === `HELLO FROM ${id.toUpperCase()}`;
  if (!right) throw new Error(`a wrong answer to ${id}: ${body.slice(0, 500)}`);
}
