import { type IncomingMessage, request } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { parseSseEvents } from '@app/client';

import { integers } from '../../support/clients/task-stream.js';
import { useServer } from '../../support/processes/spec-server.js';
import { TOKEN } from '../../support/processes/start-server.js';
import { COUNTER } from '../agents/modules/agent-modules.js';

const EVENTS = 5_000;
const EVENT_BYTES = 8_000;
const MiB = 1024 * 1024;

const server = useServer({ ACTA_AGENTS: COUNTER });

/** Subscribes without reading from the connection. */
function subscribe(id: string): Promise<IncomingMessage> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id } });
  const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json', 'A2A-Version': '1.0' };
  return new Promise((resolve, reject) => {
    request(`${server.url}/a2a`, { method: 'POST', headers, agent: false }, (response) => resolve(response.pause()))
      .once('error', reject)
      .end(body);
  });
}

/** Reads a stream to its end, and returns the numbers in it. */
async function readCounts(response: IncomingMessage): Promise<number[]> {
  const counts: number[] = [];
  for await (const { data } of parseSseEvents(response, MiB)) {
    const count = /"text":"(\d+) /.exec(data);
    if (count !== null) counts.push(Number(count[1]));
  }
  return counts;
}

describe('A client that does not read its stream', () => {
  // F12, [A2A-STREAM-4]
  it('delays no other client, uses little memory of the server, and gets every event when it reads', async () => {
    const text = `count ${EVENTS} size ${EVENT_BYTES}`;
    // The first task of this size makes the server allocate what it needs without slow clients.
    await server.caller.send(text, { configuration: { historyLength: 0 } });
    const { id } = await server.caller.start('ask');
    const [first, second, ...slow] = await Promise.all(Array.from({ length: 7 }, () => subscribe(id)));
    const readers = [readCounts(first!), readCounts(second!)];
    const before = server.process.residentBytes;
    await server.caller.start(text, { taskId: id });
    for (const counts of await Promise.all(readers)) expect(counts).toEqual(integers(1, EVENTS));
    // Buffers for the five slow clients would need 200 MB.
    expect(server.process.residentBytes - before).toBeLessThan(100 * MiB);
    for (const response of slow) expect(await readCounts(response)).toEqual(integers(1, EVENTS));
  }, 120_000);
});
