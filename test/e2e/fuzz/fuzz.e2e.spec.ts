import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DatabaseView } from '../../support/database/database-view.js';
import { V1Caller } from '../../support/clients/rpc.js';
import { type RunningServer, startServer } from '../../support/processes/start-server.js';
import { type FuzzedRequest, requests } from './requests.js';

/** FUZZ_REQUESTS=100000 runs longer; FUZZ_SEED departs from the seed that every run has otherwise. */
const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? 1_500);
const SEED = Number(process.env['FUZZ_SEED'] ?? 20_250_728);
const HANGS_MS = 20_000;
/** Tables that runs of accepted tasks fill while the fuzzer goes on. */
const RUNNING = ['event', 'message', 'artifact_chunk', 'run_queue', 'push_'];

let server: RunningServer;
let database: DatabaseView;
let token: string;
let ids: string[];

beforeAll(async () => {
  server = await startServer();
  database = new DatabaseView(server.databaseUrl!);
  token = await database.createKey({ subject: 'fuzzer', rings: ['ring:a', 'ring:b'] });
  const caller = new V1Caller(server.url, token);
  ids = [(await caller.send('ask')).id, (await caller.send('hello')).id];
}, 90_000);
afterAll(async () => {
  await database?.close();
  await server?.stop();
});

async function acceptedRows(): Promise<Record<string, number>> {
  const counts = Object.entries(await database.rowCounts());
  return Object.fromEntries(
    counts.filter(
      ([table]) => !RUNNING.some((name) => table === name || (name.endsWith('_') && table.startsWith(name))),
    ),
  );
}

interface Answer {
  status: number;
  type: string;
  text: string;
}

async function send({ method, path, headers, body }: FuzzedRequest): Promise<Answer> {
  const response = await fetch(server.url + path, {
    method,
    headers: { ...headers, Authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body }),
    signal: AbortSignal.timeout(HANGS_MS),
  });
  const type = response.headers.get('content-type') ?? '';
  if (type.startsWith('text/event-stream')) {
    // Open streams may stay so: that it opened is the answer.
    await response.body!.cancel();
    return { status: response.status, type, text: '' };
  }
  return { status: response.status, type, text: await response.text() };
}

/** The id that an answer must have, when the request's envelope has one that is beyond doubt. */
function plainIdOf(body: Uint8Array | undefined): string | number | undefined {
  try {
    const { id } = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as { id?: unknown };
    if (typeof id === 'string' && /^[\w-]{1,64}$/.test(id)) return id;
    return Number.isSafeInteger(id) && !Object.is(id, -0) ? (id as number) : undefined;
  } catch {
    return undefined;
  }
}

function checkRpc(request: FuzzedRequest, { status, text }: Answer): 'accepted' | 'refused' {
  const answer = JSON.parse(text) as {
    jsonrpc: string;
    id: unknown;
    result?: unknown;
    error?: { code: number; message: string };
  };
  expect(answer.jsonrpc).toBe('2.0');
  expect('result' in answer).not.toBe('error' in answer);
  const id = plainIdOf(request.body);
  if (status === 200 && id !== undefined) expect(answer.id).toBe(id);
  if (answer.error === undefined) return 'accepted';
  expect(Number.isInteger(answer.error.code)).toBe(true);
  // An internal error inside of a 200 is a 5xx all the same.
  expect(answer.error.code).not.toBe(-32603);
  expect(answer.error.message).toEqual(expect.any(String));
  return 'refused';
}

it(
  `answers ${REQUESTS} fuzzed requests without a 5xx or a hang, and stores nothing of what it refuses`,
  async () => {
    let rows = await acceptedRows();
    const seen = { accepted: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(requests(ids), async (request) => {
        const answer = await send(request);
        expect(answer.status).toBeLessThan(500);
        // A fuzzer that is turned away at the door tests nothing.
        expect([401, 429]).not.toContain(answer.status);
        const isRpc = /^\/a2a\/?$/.test(request.path) && request.method === 'POST';
        const stream = answer.type.startsWith('text/event-stream');
        if (answer.type.startsWith('application/') && answer.text !== '') JSON.parse(answer.text);
        const outcome = isRpc && !stream ? checkRpc(request, answer) : answer.status < 400 ? 'accepted' : 'refused';
        seen[outcome] += 1;
        const before = rows;
        rows = await acceptedRows();
        if (outcome === 'refused') expect(rows).toEqual(before);
      }),
      { seed: SEED, numRuns: REQUESTS, endOnFailure: false },
    );
    // Departures from right requests that are never right, or never wrong, would prove little.
    expect(seen.accepted).toBeGreaterThan(REQUESTS / 20);
    expect(seen.refused).toBeGreaterThan(REQUESTS / 4);
    expect(server.process.output).not.toMatch(/"level":"(error|fatal)"/);
    expect((await new V1Caller(server.url, token).send('hello')).status.state).toBe('TASK_STATE_COMPLETED');
  },
  60_000 + REQUESTS * 60,
);
