import { fileURLToPath } from 'node:url';
import type { JsonObject } from '@app/domain';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DatabaseView } from '../../support/database/database-view.js';
import { call, http, sendParams, V1Caller } from '../../support/clients/rpc.js';
import { type RunningServer, startServer, startWorker, TOKEN } from '../../support/processes/start-server.js';
import { createTestDatabase, type TestDatabase } from '../../support/database/test-database.js';

const AGENTS = fileURLToPath(new URL('../../../examples/agents/remote.mjs', import.meta.url));
let shared: TestDatabase;
let database: DatabaseView;
let server: RunningServer;
let replica: RunningServer;
let caller: V1Caller;
let key: string;
let stop: () => Promise<unknown>;

beforeAll(async () => {
  shared = await createTestDatabase();
  database = new DatabaseView(shared.url);
  const env = { ACTA_AGENTS: AGENTS, ACTA_LEASE_MS: '2000' };
  const options = { databaseUrl: shared.url, env };
  // None of these processes has code for the agent.
  const started = await Promise.all([startServer(options), startServer(options), startWorker(shared.url, env)]);
  [server, replica] = started;
  stop = () => Promise.all(started.map((process) => process.stop()));
  caller = new V1Caller(server.url, TOKEN);
  key = await database.createKey({ subject: 'worker', role: 'worker', agents: ['shout'] });
}, 120_000);
afterAll(async () => {
  await database?.close();
  await stop?.();
  await shared?.drop();
});

interface Run {
  runId: string;
  taskId: string;
  leaseGeneration: number;
  dispatcherGeneration: number;
}

async function post(path: string, body: JsonObject | string, token = key, url = server.url) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await http('POST', `${url}/api/${path}`, token, { body: text });
  return { status: response.status, body: JSON.parse(response.text) as JsonObject };
}
const claim = async (url = server.url) =>
  ((await post('workers/claim', { waitMs: 30_000 }, key, url)).body['runs'] as unknown as Run[])[0]!;
const fenceOf = ({ leaseGeneration, dispatcherGeneration }: Run) => ({ leaseGeneration, dispatcherGeneration });
/** Returns the body of a write for the first run of a task. */
const write = (more: JsonObject): JsonObject => ({ leaseGeneration: 1, dispatcherGeneration: 1, seq: 1, ...more });
const chunk = (text: string, append = false) => ({ type: 'artifact', id: 'out', append, parts: [{ text }] });
const publish = (run: Run, seq: number, outputs: JsonObject[], url = server.url) =>
  post(`runs/${run.runId}/publish`, { ...fenceOf(run), seq, outputs }, key, url);
const finish = (run: Run, seq: number, outcome: JsonObject, url = server.url) =>
  post(`runs/${run.runId}/finish`, { ...fenceOf(run), seq, outcome }, key, url);

describe('A remote worker', () => {
  it('executes a task through any replica, for a client with a blocking send', async () => {
    const claimed = claim(replica.url);
    const response = caller.send('hello');
    const run = await claimed;
    expect(run).toMatchObject({ agent: 'shout', attempt: 1, leaseMs: 2_000, message: { parts: [{ text: 'hello' }] } });
    const working = { type: 'working', message: { parts: [{ text: 'on it' }] } };
    expect(await publish(run, 1, [working, chunk('HE')])).toMatchObject({
      status: 200,
      body: { status: 'working', cancelRequested: false, messages: [] },
    });
    expect((await publish(run, 2, [chunk('LLO', true)], replica.url)).status).toBe(200);
    expect((await publish(run, 2, [chunk('LLO', true)])).status).toBe(200);
    expect(await finish(run, 3, { type: 'complete' })).toMatchObject({ status: 200, body: { status: 'completed' } });
    expect(await finish(run, 3, { type: 'complete' })).toMatchObject({ status: 200, body: { status: 'completed' } });
    const task = await response;
    expect(task.artifacts?.[0]?.parts).toEqual([{ text: 'HELLO' }]);
    expect(await database.eventTypes(task.id)).toHaveLength(7);
  });

  it('gets 409 for every call and adds nothing after its lease has expired and another worker has the run', async () => {
    const { id } = await caller.start('slow');
    const slow = await claim();
    await publish(slow, 1, [chunk('of the first')]);
    const next = await claim(replica.url);
    expect(next).toMatchObject({ taskId: id, attempt: 2, leaseGeneration: 2, dispatcherGeneration: 2 });
    const before = await database.eventTypes(id);
    const current = { taskId: id, leaseGeneration: 2, dispatcherGeneration: 2 };
    for (const response of [
      await publish(slow, 2, [chunk('late')]),
      await finish(slow, 2, { type: 'complete' }),
      await post(`runs/${slow.runId}/heartbeat`, fenceOf(slow)),
    ]) {
      expect(response).toMatchObject({ status: 409, body: { kind: 'Fenced', details: current } });
    }
    expect(await database.eventTypes(id)).toEqual(before);
    await publish(next, 1, [chunk('of the second')]);
    await finish(next, 2, { type: 'complete' });
    expect((await caller.get(id)).artifacts?.[0]?.parts).toEqual([{ text: 'of the second' }]);
  });

  // F14
  it('fails its task and the blocking send if it appends to an artifact that was not started', async () => {
    const response = caller.call('SendMessage', sendParams('broken'));
    const run = await claim();
    expect(await publish(run, 1, [chunk('for nothing', true)])).toMatchObject({
      status: 422,
      body: { kind: 'InvalidAgentResponse', error: expect.stringContaining('"out"') },
    });
    expect((await response).body.error?.code).toBe(-32006);
    const task = await caller.get(run.taskId);
    expect(task).toMatchObject({ status: { state: 'TASK_STATE_FAILED' } });
    expect(task.artifacts).toBeUndefined();
    // A repetition of a call succeeds, as after a lost response, because the event log contains its result.
    expect(await publish(run, 1, [chunk('for nothing', true)])).toMatchObject({
      status: 200,
      body: { status: 'failed' },
    });
  });

  it('gets an empty response to a waiting claim when the server stops', async () => {
    const stopping = await startServer({ databaseUrl: shared.url, env: { ACTA_AGENTS: AGENTS } });
    const claimed = post('workers/claim', { waitMs: 30_000 }, key, stopping.url);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const stopped = stopping.stop();
    expect(await claimed).toMatchObject({ status: 200, body: { runs: [] } });
    expect((await stopped).code).toBe(0);
  });
});

describe('A call of a remote worker', () => {
  let run: Run;
  beforeAll(async () => {
    await caller.start('anything');
    run = await claim();
  });
  afterAll(() => finish(run, 1_000, { type: 'complete' }));

  it.each<[path: string, content: string, body: JsonObject, fields: string[]]>([
    [
      'workers/claim',
      'options out of range',
      { limit: 0, waitMs: 30_001, agents: 'shout' },
      ['agents', 'limit', 'waitMs'],
    ],
    ['workers/claim', 'an agent that is not a string', { agents: [1] }, ['agents']],
    ['runs/{id}/heartbeat', 'no generations', {}, ['leaseGeneration', 'dispatcherGeneration']],
    [
      'runs/{id}/heartbeat',
      'invalid numbers',
      { leaseGeneration: '1', dispatcherGeneration: 1.5, readThrough: -1 },
      ['leaseGeneration', 'dispatcherGeneration', 'readThrough'],
    ],
    ['runs/{id}/publish', 'no seq and no outputs', { leaseGeneration: 1, dispatcherGeneration: 1 }, ['seq', 'outputs']],
    ['runs/{id}/publish', 'outputs that are an object', write({ outputs: {} }), ['outputs']],
    ['runs/{id}/publish', '101 outputs', write({ outputs: Array(101).fill({ type: 'working' }) }), ['outputs']],
    [
      'runs/{id}/publish',
      'outputs without a type',
      write({ outputs: [null, 7, [], {}] }),
      ['outputs[0].type', 'outputs[1]', 'outputs[2]', 'outputs[3].type'],
    ],
    [
      'runs/{id}/publish',
      'an artifact without an id and parts',
      write({ outputs: [{ type: 'artifact' }] }),
      ['outputs[0].id', 'outputs[0].parts'],
    ],
    [
      'runs/{id}/publish',
      'an artifact with fields of a wrong type',
      write({ outputs: [{ ...chunk('x'), append: 'yes', last: 1, name: 2, metadata: [] }] }),
      ['outputs[0].append', 'outputs[0].last', 'outputs[0].metadata', 'outputs[0].name'],
    ],
    [
      'runs/{id}/publish',
      'an artifact with invalid parts',
      write({ outputs: [{ ...chunk('x'), parts: [{}, { text: 1 }, { raw: '?' }] }] }),
      ['outputs[0].parts[0]', 'outputs[0].parts[1].text', 'outputs[0].parts[2].raw'],
    ],
    [
      'runs/{id}/publish',
      'a message without parts',
      write({ outputs: [{ type: 'working', message: { parts: [] } }] }),
      ['outputs[0].message.parts'],
    ],
    ['runs/{id}/finish', 'no outcome', write({}), ['outcome', 'outcome.type']],
    ['runs/{id}/finish', 'an unknown outcome', write({ outcome: { type: 'done' } }), ['outcome.type']],
    [
      'runs/{id}/finish',
      'a question without a message',
      write({ outcome: { type: 'requireInput' } }),
      ['outcome.message'],
    ],
    [
      'runs/{id}/finish',
      'a message that is a string',
      write({ outcome: { type: 'fail', message: 'text' } }),
      ['outcome.message'],
    ],
  ])('to %s with %s is rejected with the names of the invalid fields', async (path, _content, body, fields) => {
    const before = await database.rowCounts();
    const response = await post(path.replace('{id}', run.runId), body);
    expect(response).toMatchObject({ status: 400, body: { kind: 'InvalidParameters' } });
    const { violations } = response.body['details'] as { violations: { field: string }[] };
    expect(violations.map(({ field }) => field).toSorted()).toEqual(fields.toSorted());
    expect(await database.rowCounts()).toEqual(before);
  });

  it.each(['', '{', '[]', 'null', '"x"'])('is rejected if its body is the text %j', async (text) => {
    for (const path of ['workers/claim', `runs/${run.runId}/heartbeat`, `runs/${run.runId}/finish`]) {
      expect((await post(path, text)).status).toBe(400);
    }
  });

  it('gets 404 for an unknown run, whatever its id contains', async () => {
    for (const id of ['x', 'x.y', `${run.taskId}.y`, '%00.x', `${'x'.repeat(5_000)}.y`, '..', '.']) {
      const path = `runs/${encodeURIComponent(decodeURIComponent(id))}/heartbeat`;
      const { status, body } = await post(path, fenceOf(run));
      expect([id, status, body['kind']]).toEqual([id, 404, expect.stringMatching(/NotFound/)]);
    }
  });

  it('gets the same 404 for a run of a different worker as for an unknown run', async () => {
    const stranger = await database.createKey({ subject: 'stranger', role: 'worker', agents: ['shout'] });
    const calls: [string, JsonObject][] = [
      ['heartbeat', fenceOf(run)],
      ['publish', { ...fenceOf(run), seq: 1, outputs: [] }],
      ['finish', { ...fenceOf(run), seq: 1, outcome: { type: 'complete' } }],
    ];
    for (const [operation, requestBody] of calls) {
      for (const [runId, token] of [
        [run.runId, stranger],
        [`${run.taskId}.y`, key],
        ['x', key],
      ] as const) {
        const { status, body } = await post(`runs/${runId}/${operation}`, requestBody, token);
        expect([status, body]).toEqual([
          404,
          { error: expect.stringMatching(/^run not found: .*claim/), kind: 'RunNotFound', details: { runId } },
        ]);
      }
    }
  });
});

describe('A worker key', () => {
  it('gives access to its runs only', async () => {
    const { id } = await caller.start('anything');
    const run = await claim();
    expect(run.taskId).toBe(id);
    for (const path of [`/api/tasks/${id}`, `/api/tasks/${id}/events`, `/api/tasks/${id}/runs`, `/a2a/tasks/${id}`]) {
      expect([path, (await http('GET', `${server.url}${path}`, key)).status]).toEqual([path, 404]);
    }
    for (const [method, params] of [
      ['GetTask', { id }],
      ['CancelTask', { id }],
      ['SubscribeToTask', { id }],
    ] as const) {
      expect([method, (await call(server.url, key, '1.0', method, params)).body.error?.code]).toEqual([method, -32001]);
    }
    expect((await call(server.url, key, '1.0', 'ListTasks')).body.result).toMatchObject({ totalSize: 0 });
    const before = await database.rowCounts();
    expect((await call(server.url, key, '1.0', 'SendMessage', sendParams('hi'))).body.error?.message).toMatch(
      /worker key/,
    );
    const body = JSON.stringify({ input: 'hi' });
    expect((await http('POST', `${server.url}/a2a/tasks`, key, { body })).status).toBe(403);
    expect(await database.rowCounts()).toEqual(before);
    await finish(run, 1, { type: 'reject', message: { parts: [{ text: 'no' }] } });
  });

  it('is necessary for the calls of a worker, and limits them to its agents', async () => {
    const member = await database.createKey({ subject: 'alice' });
    for (const token of [member, TOKEN]) {
      expect((await post('workers/claim', {}, token)).status).toBe(403);
      expect((await post('runs/x.y/heartbeat', { leaseGeneration: 1, dispatcherGeneration: 1 }, token)).status).toBe(
        403,
      );
    }
    expect((await post('workers/claim', { agents: ['demo'] })).status).toBe(403);
  });
});
