import type { Json, JsonObject } from '@app/domain';
import fc from 'fast-check';

export interface FuzzedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: Uint8Array;
}

const encoder = new TextEncoder();

/** Values that have broken parsers, databases and type checks before. */
const NASTY: Json[] = [
  null,
  true,
  false,
  0,
  -1,
  -0,
  1.5,
  2 ** 31,
  2 ** 53,
  1e308,
  5e-324,
  '',
  ' ',
  '0',
  '10',
  'null',
  '__proto__',
  'constructor',
  'a\u0000b',
  '\ud800',
  '\udc00\ud800',
  '\ufeff',
  '\u202e',
  '\r\nX: y',
  "'; drop table task; --",
  '%00',
  '../..',
  'x'.repeat(257),
  'ring:none',
  'TASK_STATE_UNSPECIFIED',
  '9999-12-31T23:59:59.999Z',
  '-000001-01-01T00:00:00Z',
  '2025-06-31T00:00:00Z',
  'https://user:pw@127.0.0.1/',
  'javascript:alert(1)',
  [],
  {},
  [[]],
  [null],
  [{}],
  { '': '' },
  JSON.parse('{"__proto__":{"id":"x"}}') as Json,
];

const anyJson: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom(...NASTY),
  fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>,
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.integer({ min: 60, max: 500 }).map((depth) => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`) as Json),
);

type Path = (string | number)[];

function pathsIn(value: Json, path: Path = []): Path[] {
  if (value === null || typeof value !== 'object' || path.length > 12) return [path];
  const keys: (string | number)[] = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return [path, ...keys.flatMap((key) => pathsIn((value as Record<string | number, Json>)[key]!, [...path, key]))];
}

function changeAt(value: Json, [key, ...rest]: Path, change: (at: Json) => Json | undefined): Json | undefined {
  if (key === undefined) return change(value);
  const copy = (Array.isArray(value) ? [...value] : { ...(value as JsonObject) }) as Record<string | number, Json>;
  const changed = changeAt(copy[key]!, rest, change);
  if (changed !== undefined) copy[key] = changed;
  else if (Array.isArray(copy)) copy.splice(Number(key), 1);
  else delete copy[key];
  return copy as Json;
}

/** One thing that goes wrong somewhere in a request. */
const mutation: fc.Arbitrary<(value: Json) => Json | undefined> = fc.oneof(
  { weight: 5, arbitrary: anyJson.map((other) => () => other) },
  { weight: 2, arbitrary: fc.constant(() => undefined) },
  { weight: 1, arbitrary: fc.constant((value: Json) => [value, value]) },
  { weight: 1, arbitrary: fc.constant((value: Json) => JSON.stringify(value)) },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.oneof(fc.constantFrom('id', 'tenant', 'ring', 'kind', 'task_id'), fc.string()), anyJson).map(
      ([key, more]) =>
        (value: Json) =>
          typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value, [key]: more } : value,
    ),
  },
);

const mutated = (template: Json): fc.Arbitrary<Json> =>
  fc.array(fc.tuple(fc.nat(), mutation), { maxLength: 3 }).map((changes) =>
    changes.reduce<Json>((value, [at, change]) => {
      const paths = pathsIn(value);
      return changeAt(value, paths[at % paths.length]!, change) ?? null;
    }, template),
  );

/** JSON text whose bytes went wrong on the way. */
const damaged = (text: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> =>
  fc
    .tuple(text, fc.nat(), fc.uint8Array({ maxLength: 4 }), fc.constantFrom('insert', 'cut', 'replace'))
    .map(([bytes, position, extra, how]) => {
      const at = position % (bytes.length + 1);
      if (how === 'cut') return bytes.slice(0, at);
      return Buffer.concat([bytes.slice(0, at), extra, bytes.slice(how === 'insert' ? at : at + extra.length)]);
    });

const bytesOf = (value: Json): Uint8Array => encoder.encode(JSON.stringify(value));

const WEBHOOK = { url: 'https://example.com/hook', token: 't', authentication: { scheme: 'Bearer', credentials: 'c' } };
const LEGACY_WEBHOOK = {
  id: 'c',
  url: 'https://example.com/hook',
  authentication: { schemes: ['Bearer'], credentials: 'c' },
};

/** Calls that are right, from which the fuzzer departs; `ids` are tasks of the caller. */
function calls(ids: readonly string[]): [version: string, method: string, params: JsonObject][] {
  const id = ids[0]!;
  const message: JsonObject = {
    messageId: 'm',
    role: 'ROLE_USER',
    contextId: 'c',
    metadata: { ring: 'ring:a' },
    extensions: ['https://example.com/e'],
    referenceTaskIds: [id],
    parts: [
      { text: 'hi', mediaType: 'text/plain' },
      { data: { a: [1] } },
      { raw: 'aGk=', filename: 'f' },
      { url: 'https://example.com/x' },
    ],
  };
  const legacy: JsonObject = {
    kind: 'message',
    messageId: 'm',
    role: 'user',
    contextId: 'c',
    parts: [
      { kind: 'text', text: 'hi', metadata: {} },
      { kind: 'data', data: { a: 1 } },
      { kind: 'file', file: { bytes: 'aGk=', name: 'f', mimeType: 'text/plain' } },
      { kind: 'file', file: { uri: 'https://example.com/x' } },
    ],
  };
  const configuration = { returnImmediately: true, historyLength: 3, acceptedOutputModes: ['text/plain'] };
  return [
    ['1.0', 'SendMessage', { message, configuration, metadata: { a: 1 } }],
    ['1.0', 'SendMessage', { message: { messageId: 'm', role: 'ROLE_USER', taskId: id, parts: [{ text: 'more' }] } }],
    ['1.0', 'SendMessage', { message, configuration: { ...configuration, taskPushNotificationConfig: WEBHOOK } }],
    ['1.0', 'SendStreamingMessage', { message, configuration }],
    ['1.0', 'GetTask', { id, historyLength: 2 }],
    [
      '1.0',
      'ListTasks',
      {
        contextId: 'c',
        status: 'TASK_STATE_COMPLETED',
        pageSize: 5,
        pageToken: '',
        historyLength: 1,
        statusTimestampAfter: '2025-01-01T00:00:00Z',
        includeArtifacts: true,
      },
    ],
    ['1.0', 'CancelTask', { id, metadata: {} }],
    ['1.0', 'SubscribeToTask', { id }],
    ['1.0', 'CreateTaskPushNotificationConfig', { taskId: id, ...WEBHOOK }],
    ['1.0', 'GetTaskPushNotificationConfig', { taskId: id, id: 'c' }],
    ['1.0', 'ListTaskPushNotificationConfigs', { taskId: id, pageSize: 2, pageToken: '' }],
    ['1.0', 'DeleteTaskPushNotificationConfig', { taskId: id, id: 'c' }],
    ['1.0', 'GetExtendedAgentCard', {}],
    [
      '0.3',
      'message/send',
      { message: legacy, configuration: { blocking: false, historyLength: 3, acceptedOutputModes: ['text'] } },
    ],
    [
      '0.3',
      'message/send',
      { message: { ...legacy, taskId: id }, configuration: { pushNotificationConfig: LEGACY_WEBHOOK } },
    ],
    ['0.3', 'message/stream', { message: legacy }],
    ['0.3', 'tasks/get', { id, historyLength: 2 }],
    ['0.3', 'tasks/cancel', { id }],
    ['0.3', 'tasks/resubscribe', { id }],
    ['0.3', 'tasks/pushNotificationConfig/set', { taskId: id, pushNotificationConfig: LEGACY_WEBHOOK }],
    ['0.3', 'tasks/pushNotificationConfig/get', { id, pushNotificationConfigId: 'c' }],
    ['0.3', 'tasks/pushNotificationConfig/list', { id }],
    ['0.3', 'tasks/pushNotificationConfig/delete', { id, pushNotificationConfigId: 'c' }],
    ['0.3', 'agent/getAuthenticatedExtendedCard', {}],
  ];
}

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
      fc.oneof({ weight: 20, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: oddHeaders }),
    )
    .map(([asked, type, odd]) => ({ 'A2A-Version': asked, 'Content-Type': type, ...odd }));

const oddHeaders: fc.Arbitrary<Record<string, string>> = fc.constantFrom<Record<string, string>>(
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

/** JSON-RPC calls of both versions with something wrong in the parameters, the envelope or the bytes. */
function rpcRequests(ids: readonly string[]): fc.Arbitrary<FuzzedRequest> {
  const structured = fc.constantFrom(...calls(ids)).chain(([version, method, params]) => {
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
      fc.string({ unit: 'binary' }).map((s) => encoder.encode(s)),
    ),
  });
  return fc
    .tuple(
      fc.oneof({ weight: 8, arbitrary: structured }, { weight: 1, arbitrary: raw }),
      fc.constantFrom('/a2a', '/a2a', '/a2a/'),
    )
    .map(([request, path]) => ({ method: 'POST', path, ...request }));
}

/** One segment of a path, as whatever a client may make of it. */
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

/** Everything else under the server's roof: both REST surfaces, the HTTP+JSON binding, cards, and what does not exist. */
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
    id.map((at) => `/a2a/tasks/${at}`),
    fc
      .tuple(id, fc.constantFrom('', ':cancel', '/pushNotificationConfigs', '/pushNotificationConfigs/c'))
      .map(([at, rest]) => `/a2a/v1/tasks/${at}${rest}`),
    fc
      .tuple(
        id,
        fc.constantFrom('', '/events', '/messages', '/deliveries', '/runs', '/pushes', '/diff', ':fork', ':resume'),
      )
      .map(([at, rest]) => `/api/tasks/${at}${rest}`),
    fc.tuple(id, id).map(([at, other]) => `/${at}/${other}`),
  );
  const template = fc.oneof(
    mutated({ input: 'hi', metadata: { ring: 'ring:a' } }),
    fc.constantFrom(...calls(ids)).chain(([, , params]) => mutated(params)),
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

/** `ids`: tasks of the caller, which a part of the requests names. */
export const requests = (ids: readonly string[]): fc.Arbitrary<FuzzedRequest> =>
  fc.oneof({ weight: 2, arbitrary: rpcRequests(ids) }, { weight: 1, arbitrary: pathRequests(ids) });
