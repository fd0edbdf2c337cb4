import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { V1Caller } from '../../support/clients/rpc.js';
import { useServer } from '../../support/processes/spec-server.js';
import { type FuzzedRequest, requests } from './requests.js';

/** FUZZ_REQUESTS sets the number of requests. FUZZ_SEED replaces the fixed seed. */
const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? 1_500);
const SEED = Number(process.env['FUZZ_SEED'] ?? 20_250_728);
const TIMEOUT_MS = 20_000;
/** Tables, or prefixes of tables, that runs of accepted tasks fill during later requests. */
const FILLED_BY_RUNS = ['event', 'message', 'artifact_chunk', 'run_queue', 'push_'];

let token: string;
let ids: string[];

const server = useServer();
beforeAll(async () => {
  token = await server.database.createKey({ subject: 'fuzzer', rings: ['ring:a', 'ring:b'] });
  const caller = new V1Caller(server.url, token);
  ids = [(await caller.send('ask')).id, (await caller.send('hello')).id];
});

/** Returns table → number of rows, for every table that only a request fills. */
async function rowsOfRequests(): Promise<Record<string, number>> {
  const counts = Object.entries(await server.database.rowCounts());
  return Object.fromEntries(
    counts.filter(
      ([table]) => !FILLED_BY_RUNS.some((name) => table === name || (name.endsWith('_') && table.startsWith(name))),
    ),
  );
}

interface FuzzedResponse {
  status: number;
  type: string;
  text: string;
}

async function send({ method, path, headers, body }: FuzzedRequest): Promise<FuzzedResponse> {
  const response = await fetch(server.url + path, {
    method,
    headers: { ...headers, Authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const type = response.headers.get('content-type') ?? '';
  if (type.startsWith('text/event-stream')) {
    // A stream may stay open, so its start is the response.
    await response.body!.cancel();
    return { status: response.status, type, text: '' };
  }
  return { status: response.status, type, text: await response.text() };
}

/** Returns the id that a response must have, if the request certainly has a valid one. */
function validIdOf(body: Uint8Array | undefined): string | number | undefined {
  try {
    const { id } = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as { id?: unknown };
    if (typeof id === 'string' && /^[\w-]{1,64}$/.test(id)) return id;
    return Number.isSafeInteger(id) && !Object.is(id, -0) ? (id as number) : undefined;
  } catch {
    return undefined;
  }
}

/** Checks a JSON-RPC response, and returns whether the server accepted the request. */
function checkRpc(request: FuzzedRequest, { status, text }: FuzzedResponse): 'accepted' | 'rejected' {
  const response = JSON.parse(text) as {
    jsonrpc: string;
    id: unknown;
    result?: unknown;
    error?: { code: number; message: string };
  };
  expect(response.jsonrpc).toBe('2.0');
  expect('result' in response).not.toBe('error' in response);
  const id = validIdOf(request.body);
  if (status === 200 && id !== undefined) expect(response.id).toBe(id);
  if (response.error === undefined) return 'accepted';
  expect(Number.isInteger(response.error.code)).toBe(true);
  // An internal error counts as a 5xx.
  expect(response.error.code).not.toBe(-32603);
  expect(response.error.message).toEqual(expect.any(String));
  return 'rejected';
}

describe('The server', () => {
  it(
    `responds to ${REQUESTS} fuzzed requests without a 5xx or a timeout, and stores nothing of a rejected request`,
    async () => {
      let rows = await rowsOfRequests();
      const counts = { accepted: 0, rejected: 0 };
      await fc.assert(
        fc.asyncProperty(requests(ids), async (request) => {
          const response = await send(request);
          expect(response.status).toBeLessThan(500);
          // Requests that are rejected before they are parsed would test nothing.
          expect([401, 429]).not.toContain(response.status);
          const isRpc = /^\/a2a\/?$/.test(request.path) && request.method === 'POST';
          const isStream = response.type.startsWith('text/event-stream');
          if (response.type.startsWith('application/') && response.text !== '') JSON.parse(response.text);
          const outcome =
            isRpc && !isStream ? checkRpc(request, response) : response.status < 400 ? 'accepted' : 'rejected';
          counts[outcome] += 1;
          const before = rows;
          rows = await rowsOfRequests();
          if (outcome === 'rejected') expect(rows).toEqual(before);
        }),
        { seed: SEED, numRuns: REQUESTS, endOnFailure: false },
      );
      // The requests must include valid and invalid ones.
      expect(counts.accepted).toBeGreaterThan(REQUESTS / 20);
      expect(counts.rejected).toBeGreaterThan(REQUESTS / 4);
      expect(server.process.output).not.toMatch(/"level":"(error|fatal)"/);
      expect((await new V1Caller(server.url, token).send('hello')).status.state).toBe('TASK_STATE_COMPLETED');
    },
    60_000 + REQUESTS * 60,
  );
});
