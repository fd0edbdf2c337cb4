import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { DatabaseView } from '../../support/database/database-view.js';
import { http, sendParams, V1Caller } from '../../support/clients/rpc.js';
import { type RunningServer, startServer, startWorker, TOKEN } from '../../support/processes/start-server.js';

let server: RunningServer;
let database: DatabaseView;
const first = { messageId: randomUUID() };

beforeAll(async () => {
  const env = { ACTA_WORKER_CONCURRENCY: '0', ACTA_TENANT_MAX_QUEUED: '2', ACTA_TENANT_MAX_RUNNING: '1' };
  server = await startServer({ env });
  database = new DatabaseView(server.databaseUrl!);
  const caller = new V1Caller(server.url, TOKEN);
  await caller.start('one', first);
  await caller.start('two');
}, 90_000);
afterAll(async () => {
  await database?.close();
  await server?.stop();
});

const V03 = () => ({
  message: { messageId: randomUUID(), role: 'user', kind: 'message', parts: [{ kind: 'text', text: 'hi' }] },
});
const rpc = (method: string, params: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });

it.each<[string, string, string, () => string, object]>([
  [
    'JSON-RPC of 1.0',
    'a2a',
    '1.0',
    () => rpc('SendMessage', sendParams('hi')),
    { id: 1, error: { code: expect.any(Number) } },
  ],
  ['a stream of 1.0', 'a2a', '1.0', () => rpc('SendStreamingMessage', sendParams('hi')), { id: 1, error: {} }],
  ['JSON-RPC of 0.3', 'a2a', '0.3', () => rpc('message/send', V03()), { id: 1, error: {} }],
  [
    'HTTP+JSON of 1.0',
    'a2a/v1/message:send',
    '1.0',
    () => JSON.stringify(sendParams('hi')),
    { error: { code: 503, status: 'UNAVAILABLE' } },
  ],
  [
    'the simple REST',
    'a2a/tasks',
    '',
    () => JSON.stringify({ input: 'hi' }),
    { error: expect.stringMatching(/^overloaded: /) },
  ],
])(
  'tells a tenant whose queue is full when to come again, on %s, and stores nothing',
  async (_name, path, version, body, said) => {
    const before = await database.rowCounts();
    const answer = await http('POST', `${server.url}/${path}`, TOKEN, {
      headers: { 'A2A-Version': version },
      body: body(),
    });
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
    expect(JSON.parse(answer.text)).toMatchObject(said);
    expect(answer.text).toContain('nothing was stored');
    expect(await database.rowCounts()).toEqual(before);
  },
);

it('takes in work of other tenants, and answers what it took before', async () => {
  const elsewhere = new V1Caller(server.url, await database.createKey({ tenant: 'umbrella', subject: 'alice' }));
  await elsewhere.start('theirs');
  const again = await new V1Caller(server.url, TOKEN).start('one', first);
  expect(again.status.state).toBe('TASK_STATE_SUBMITTED');
});

it('has room again once the work is done, one run of a tenant at a time', async () => {
  const worker = await startWorker(server.databaseUrl!, { ACTA_TENANT_MAX_RUNNING: '1' });
  const caller = new V1Caller(server.url, TOKEN);
  const { id } = await caller.send('one', { message: first });
  expect((await database.eventTypes(id)).at(-1)).toBe('TaskCompleted');
  const later = await Promise.all([caller.send('sleep 50ms'), caller.send('sleep 50ms')]);
  const runs = [...(await database.streams())]
    .filter(([task]) => later.some((one) => one.id === task))
    .map(([, events]) => [events.find(({ type }) => type === 'RunStarted')!, events.at(-1)!])
    .map(([from, to]) => [from!.recorded_at.getTime(), to!.recorded_at.getTime()] as const)
    .toSorted(([a], [b]) => a - b);
  expect(runs[1]![0]).toBeGreaterThanOrEqual(runs[0]![1]);
  await worker.stop();
});
