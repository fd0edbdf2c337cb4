import fc from 'fast-check';
import { anyJson, bytesOf, damaged, mutated } from './mutations.js';
import { validCalls } from './valid-calls.js';

export interface FuzzedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: Uint8Array;
}

/** Headers of a call, of which one in 20 is changed. */
const headersFor = (version: string): fc.Arbitrary<Record<string, string>> =>
  fc
    .tuple(
      fc.oneof(
        { weight: 20, arbitrary: fc.constant(version) },
        { weight: 1, arbitrary: fc.constantFrom('', '1', '1.0.0', '0.3, 1.0', 'x'.repeat(300)) },
      ),
      fc.oneof(
        { weight: 20, arbitrary: fc.constant('application/json') },
        {
          weight: 1,
          arbitrary: fc.constantFrom('', 'text/plain', 'application/a2a+json', 'application/json;charset=latin1', ';'),
        },
      ),
      fc.oneof({ weight: 20, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: unusualHeaders }),
    )
    .map(([a2aVersion, type, unusual]) => ({ 'A2A-Version': a2aVersion, 'Content-Type': type, ...unusual }));

const unusualHeaders: fc.Arbitrary<Record<string, string>> = fc.constantFrom<Record<string, string>>(
  { 'Last-Event-ID': '-1' },
  { 'Last-Event-ID': '99999999999999999999' },
  { 'Idempotency-Key': 'k' },
  { 'Idempotency-Key': 'x'.repeat(300) },
  { 'A2A-Extensions': ',,https://example.com/e,' },
  { traceparent: '00-zz' },
  { Accept: 'application/a2a+json' },
  { 'Content-Encoding': 'br' },
  { 'X-Forwarded-For': '1.2.3.4' },
);

/** JSON-RPC calls of both versions with changes in the params, the envelope or the bytes. */
function rpcRequests(ids: readonly string[]): fc.Arbitrary<FuzzedRequest> {
  const structured = fc.constantFrom(...validCalls(ids)).chain(([version, method, params]) => {
    const envelope = fc.oneof(
      { weight: 6, arbitrary: mutated(params).map((changed) => ({ jsonrpc: '2.0', id: 1, method, params: changed })) },
      { weight: 2, arbitrary: mutated({ jsonrpc: '2.0', id: 1, method, params }) },
    );
    const text = envelope.map(bytesOf);
    const bytes = fc.oneof({ weight: 6, arbitrary: text }, { weight: 1, arbitrary: damaged(text) });
    return fc.record({ headers: headersFor(version), body: bytes });
  });
  const raw = fc.record({
    headers: fc.constantFrom('1.0', '0.3').chain(headersFor),
    body: fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      anyJson.map(bytesOf),
      fc.string({ unit: 'binary' }).map((text) => new TextEncoder().encode(text)),
    ),
  });
  return fc
    .tuple(
      fc.oneof({ weight: 8, arbitrary: structured }, { weight: 1, arbitrary: raw }),
      fc.constantFrom('/a2a', '/a2a', '/a2a/'),
    )
    .map(([request, path]) => ({ method: 'POST', path, ...request }));
}

/** One segment of a path: a task, an edge value or any text. */
const segment = (ids: readonly string[]): fc.Arbitrary<string> =>
  fc.oneof(
    fc.constantFrom(...ids),
    fc.constantFrom('%00', '%zz', '%ff', '%2e%2e', '..', '%2F', '*', ':', 'x'.repeat(300), '%ed%a0%80', 'a:cancel'),
    fc.string({ unit: 'grapheme', maxLength: 20 }).map(encodeURIComponent),
  );

const query: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constant('') },
  {
    weight: 1,
    arbitrary: fc
      .array(
        fc.tuple(
          fc.constantFrom(
            'pageSize',
            'historyLength',
            'status',
            'contextId',
            'pageToken',
            'includeArtifacts',
            'after',
            'limit',
            'version',
            'at',
            '__proto__',
          ),
          fc.oneof(
            fc.constantFrom('', '-1', '1', '1e9', '99999999999', 'true', 'x', '%00', '%ff', '2025-02-30T00:00:00Z'),
            fc.string({ unit: 'grapheme', maxLength: 10 }).map(encodeURIComponent),
          ),
        ),
        { minLength: 1, maxLength: 3 },
      )
      .map((pairs) => `?${pairs.map((pair) => pair.join('=')).join('&')}`),
  },
);

/** Requests of the simple REST API, the native REST API, the HTTP+JSON binding, cards and unknown paths. */
function pathRequests(ids: readonly string[]): fc.Arbitrary<FuzzedRequest> {
  const id = segment(ids);
  const path = fc.oneof(
    fc.constantFrom(
      '/a2a/tasks',
      '/a2a/agent',
      '/a2a/v1/message:send',
      '/a2a/v1/message:stream',
      '/a2a/v1/tasks',
      '/a2a/v1/extendedAgentCard',
      '/a2a/v1/v1/message:send',
    ),
    fc.constantFrom('/.well-known/agent-card.json', '/health', '/api/tasks', '/api/keys', '/api/audit/events'),
    id.map((task) => `/a2a/tasks/${task}`),
    fc
      .tuple(id, fc.constantFrom('', ':cancel', '/pushNotificationConfigs', '/pushNotificationConfigs/c'))
      .map(([task, suffix]) => `/a2a/v1/tasks/${task}${suffix}`),
    fc
      .tuple(
        id,
        fc.constantFrom('', '/events', '/messages', '/deliveries', '/runs', '/pushes', '/diff', ':fork', ':resume'),
      )
      .map(([task, suffix]) => `/api/tasks/${task}${suffix}`),
    fc.tuple(id, id).map(([first, second]) => `/${first}/${second}`),
  );
  const template = fc.oneof(
    mutated({ input: 'hi', metadata: { ring: 'ring:a' } }),
    fc.constantFrom(...validCalls(ids)).chain(([, , params]) => mutated(params)),
    anyJson,
  );
  const text = template.map(bytesOf);
  return fc
    .record({
      method: fc.constantFrom('GET', 'GET', 'POST', 'POST', 'DELETE', 'PUT', 'PATCH', 'OPTIONS', 'HEAD'),
      path: fc.tuple(path, query).map(([base, search]) => base + search),
      headers: fc.constantFrom('1.0', '0.3').chain(headersFor),
      body: fc.oneof({ weight: 6, arbitrary: text }, { weight: 1, arbitrary: damaged(text) }),
    })
    .map(({ body, ...request }) => (['GET', 'HEAD'].includes(request.method) ? request : { ...request, body }));
}

/** Requests of all surfaces. `ids` are tasks of the caller, which some of the requests name. */
export const requests = (ids: readonly string[]): fc.Arbitrary<FuzzedRequest> =>
  fc.oneof({ weight: 2, arbitrary: rpcRequests(ids) }, { weight: 1, arbitrary: pathRequests(ids) });
