import { execFileSync } from 'node:child_process';
import { type IncomingMessage, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { parseSseEvents } from '@app/client';
import { V1Caller } from '../../support/clients/rpc.js';
import { type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';

const EVENTS = 5_000;
const EVENT_BYTES = 8_000;

let server: RunningServer;

beforeAll(async () => {
  server = await startServer({
    env: { ACTA_AGENTS: fileURLToPath(new URL('../agents/modules/counter.mjs', import.meta.url)) },
  });
}, 90_000);
afterAll(() => server?.stop());

/** A client that takes nothing off its connection until it reads. */
function connect(id: string): Promise<IncomingMessage> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id } });
  const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json', 'A2A-Version': '1.0' };
  return new Promise((resolve, reject) => {
    request(`${server.url}/a2a`, { method: 'POST', headers, agent: false }, (response) => resolve(response.pause()))
      .once('error', reject)
      .end(body);
  });
}

/** The numbers that a client is told, to the end of its stream. */
async function countsOf(response: IncomingMessage): Promise<number[]> {
  const counts: number[] = [];
  for await (const { data } of parseSseEvents(response, 1024 * 1024)) {
    const count = /"text":"(\d+) /.exec(data);
    if (count !== null) counts.push(Number(count[1]));
  }
  return counts;
}

const residentMiB = () =>
  Number(execFileSync('ps', ['-o', 'rss=', '-p', String(server.process.pid)], { encoding: 'utf8' })) / 1_024;

// F12, [A2A-STREAM-4]
it('holds up nobody for a client that does not read, and keeps nothing for it in memory', async () => {
  const caller = new V1Caller(server.url, TOKEN);
  // Whatever the server needs for a task of this size, it has needed by then.
  await caller.send(`count ${EVENTS} size ${EVENT_BYTES}`, { configuration: { historyLength: 0 } });
  const { id } = await caller.start(`ask`);
  const [quick, other, ...stalled] = await Promise.all(Array.from({ length: 7 }, () => connect(id)));
  const readers = [countsOf(quick!), countsOf(other!)];
  const before = residentMiB();
  await caller.start(`count ${EVENTS} size ${EVENT_BYTES}`, { taskId: id });
  const expected = Array.from({ length: EVENTS }, (_, at) => at + 1);
  for (const counts of await Promise.all(readers)) expect(counts).toEqual(expected);
  // Kept for the five that have not read yet, this would be 200 MB.
  const grown = residentMiB() - before;
  expect(grown).toBeLessThan(100);
  for (const response of stalled) expect(await countsOf(response)).toEqual(expected);
}, 120_000);
