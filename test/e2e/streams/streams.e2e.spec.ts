import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DatabaseView } from '../../support/database/database-view.js';
import { call, http, sendParams, V1Caller } from '../../support/clients/rpc.js';
import { type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';
import { countOf, type Frame, stateOf, TaskStream } from '../../support/clients/task-stream.js';

let server: RunningServer;
let caller: V1Caller;
let database: DatabaseView;

beforeAll(async () => {
  server = await startServer({
    env: { ACTA_AGENTS: fileURLToPath(new URL('../agents/modules/counter.mjs', import.meta.url)) },
  });
  caller = new V1Caller(server.url, TOKEN);
  database = new DatabaseView(server.databaseUrl!);
}, 90_000);
afterAll(async () => {
  await database?.close();
  await server?.stop();
});

const open = (method: string, params: Parameters<typeof call>[4] & object, lastEventId?: number | string) =>
  TaskStream.open(server.url, TOKEN, method, params, lastEventId === undefined ? {} : { lastEventId });
const subscribe = (id: string, lastEventId?: number | string) => open('SubscribeToTask', { id }, lastEventId);
const stream = (text: string, message = {}) => open('SendStreamingMessage', sendParams(text, { message }));
const openV03 = (method: string, params: Parameters<typeof call>[4] & object, lastEventId?: number) =>
  TaskStream.open(server.url, TOKEN, method, params, {
    version: '0.3',
    ...(lastEventId === undefined ? {} : { lastEventId }),
  });

const counting = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);
const counts = (frames: readonly Frame[]) => frames.map(countOf).filter((count) => count !== undefined);
const idsOf = (frames: readonly Frame[]) => frames.map(({ id }) => id);
const isRising = (ids: readonly number[]) => ids.every((id, at) => at === 0 || id >= ids[at - 1]!);

/** The error that a stream is refused with, as an ordinary answer. */
async function refusal(method: string, params: object, headers: Record<string, string> = {}, version = '1.0') {
  const {
    status,
    headers: answered,
    text,
  } = await http('POST', `${server.url}/a2a`, TOKEN, {
    headers: { 'A2A-Version': version, Accept: 'text/event-stream', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }),
  });
  expect(answered.get('content-type')).toMatch(/^application\/json/);
  const { id, error } = JSON.parse(text) as { id: number; error: { code: number; message: string } };
  expect(id).toBe(7);
  return { status, ...error };
}

describe('SendStreamingMessage', () => {
  // [A2A-STREAM-1], [A2A-STREAM-3]
  it('starts with the task, then tells every change in order, and ends with the task', async () => {
    const frames = await (await stream('count 5')).remaining();
    expect(Object.keys(frames[0]!.result)).toEqual(['task']);
    expect(counts(frames)).toEqual([1, 2, 3, 4, 5]);
    expect(frames.at(-2)!.result.artifactUpdate!.artifact.parts).toEqual([{ text: 'counted to 5' }]);
    expect(stateOf(frames.at(-1)!)).toBe('TASK_STATE_COMPLETED');
    expect(isRising(idsOf(frames))).toBe(true);
    const { id } = frames[0]!.result.task!;
    expect(await caller.get(id)).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } });
    expect(idsOf(frames).at(-1)).toBe((await database.eventTypes(id)).length);
  });

  // [A2A-STREAM-2]
  it('gives a bare reply as one message, and nothing else', async () => {
    const frames = await (await stream('reply')).remaining();
    expect(frames).toHaveLength(1);
    expect(frames[0]!.result).toEqual({
      message: expect.objectContaining({ role: 'ROLE_AGENT', parts: [{ text: 'counted nothing' }] }),
    });
  });

  // [A2A-STREAM-5]
  it('closes when the agent asks for something, and the answer goes on in a stream of its own', async () => {
    const asked = await (await stream('count 2 ask')).remaining();
    expect(stateOf(asked.at(-1)!)).toBe('TASK_STATE_INPUT_REQUIRED');
    const { id } = asked[0]!.result.task!;
    const answered = await (await stream('count 3', { taskId: id })).remaining();
    expect(answered[0]!.result.task).toMatchObject({ id });
    expect(stateOf(answered.at(-1)!)).toBe('TASK_STATE_COMPLETED');
    expect(counts(answered)).toEqual([1, 2, 3]);
    expect(answered[0]!.id).toBeGreaterThan(asked.at(-1)!.id);
  });

  it('of a message that was sent before gives its task: to its end, or as it ended', async () => {
    const params = sendParams('count 20 every 10');
    const first = await open('SendStreamingMessage', params);
    const { id } = (await first.next())!.result.task!;
    const again = await open('SendStreamingMessage', params);
    const [rest, replayed] = await Promise.all([first.remaining(), again.remaining()]);
    expect(replayed[0]!.result.task).toMatchObject({ id });
    expect(stateOf(replayed.at(-1)!)).toBe('TASK_STATE_COMPLETED');
    expect(replayed.at(-1)).toEqual(rest.at(-1));
    const ended = await (await open('SendStreamingMessage', params)).remaining();
    expect(ended.map(({ result }) => result)).toEqual([{ task: await caller.get(id) }]);
    expect((await database.eventTypes(id)).filter((type) => type === 'RunStarted')).toHaveLength(1);
  });

  it('of a bare reply that was given before gives that reply again', async () => {
    const params = sendParams('reply');
    const first = await (await open('SendStreamingMessage', params)).remaining();
    expect(await (await open('SendStreamingMessage', params)).remaining()).toEqual(first);
  });

  it('refuses what a send refuses, as an ordinary answer', async () => {
    expect(await refusal('SendStreamingMessage', { message: { messageId: 'm' } })).toMatchObject({ code: -32602 });
    const gone = sendParams('hello', { message: { taskId: randomUUID() } });
    expect(await refusal('SendStreamingMessage', gone)).toMatchObject({ code: -32001 });
  });
});

describe('SubscribeToTask', () => {
  // F8, [A2A-SUB-1]
  it('misses nothing between the snapshot and the first event, whenever it comes', async () => {
    for (let round = 0; round < 4; round += 1) {
      const { id } = await caller.start('count 60 every 3');
      const races = counting(0, 14).map(async (at) => {
        await new Promise((resolve) => setTimeout(resolve, at * 11));
        const frames = await (await subscribe(id)).remaining();
        const [snapshot, ...events] = frames;
        expect(Object.keys(snapshot!.result)).toEqual(['task']);
        // From the first working status on each event is one frame, so ids are adjacent, and so are the numbers said.
        if (events[0]!.id > 3) expect(idsOf(frames)).toEqual(counting(snapshot!.id, snapshot!.id + events.length));
        expect(counts(frames)).toEqual(counting(countOf(snapshot!) ?? 1, 60));
      });
      await Promise.all(races);
    }
  });

  // [A2A-SUB-2]
  it('stays open while the agent waits for input, and ends with the task', async () => {
    const { id } = await caller.start('count 3 every 30 ask');
    const watching = await subscribe(id);
    const asked = await watching.until((frame) => stateOf(frame) === 'TASK_STATE_INPUT_REQUIRED');
    expect(counts(asked).at(-1)).toBe(3);
    await caller.send('count 2', { message: { taskId: id } });
    const rest = await watching.remaining();
    expect(counts(rest)).toEqual([1, 2]);
    expect(stateOf(rest.at(-1)!)).toBe('TASK_STATE_COMPLETED');
  });

  it('of a task that waits for input starts at once with the task', async () => {
    const { id } = await caller.send('ask');
    const watching = await subscribe(id);
    expect(stateOf((await watching.next())!)).toBe('TASK_STATE_INPUT_REQUIRED');
    await caller.cancel(id);
    expect(stateOf((await watching.remaining()).at(-1)!)).toBe('TASK_STATE_CANCELED');
  });

  // F10, [A2A-SUB-3]
  it('of an ended task is refused with an error, and not as missing', async () => {
    const { id } = await caller.send('count 1');
    expect(await refusal('SubscribeToTask', { id })).toMatchObject({ status: 200, code: -32004 });
    expect(await refusal('SubscribeToTask', { id: randomUUID() })).toMatchObject({ status: 200, code: -32001 });
  });

  // F10
  it('of an ended task gives the rest after a last id from before its end, and is refused from its end on', async () => {
    const whole = await (await stream('count 5')).remaining();
    const { id } = whole[0]!.result.task!;
    const end = whole.at(-1)!.id;
    for (const from of [3, 5, end - 1]) {
      const [snapshot, ...rest] = await (await subscribe(id, from)).remaining();
      expect(snapshot).toMatchObject({ id: from, result: { task: { id, status: { state: 'TASK_STATE_WORKING' } } } });
      expect(rest).toEqual(whole.slice(1).filter((frame) => frame.id > from));
    }
    expect(await refusal('SubscribeToTask', { id }, { 'Last-Event-ID': String(end) })).toMatchObject({ code: -32004 });
  });

  // F10
  it.each(['0', '-1', '1.5', 'x', '01', '1e1', '9999999999', '1, 2'])('refuses the last id %j', async (lastEventId) => {
    const { id } = await caller.send('count 1');
    const refused = await refusal('SubscribeToTask', { id }, { 'Last-Event-ID': lastEventId });
    expect(refused).toMatchObject({ code: -32602, message: expect.stringContaining('Last-Event-ID') });
  });

  it('refuses a last id from the future of a live task', async () => {
    const { id } = await caller.send('ask');
    const refused = await refusal('SubscribeToTask', { id }, { 'Last-Event-ID': '100' });
    expect(refused).toMatchObject({ code: -32602 });
  });

  it('shows the task as it was at the last id, so that nothing is told twice', async () => {
    const { id } = await caller.start('count 40 every 10');
    const watching = await subscribe(id);
    const seen = await watching.until((frame) => countOf(frame) === 10);
    watching.close();
    const [snapshot, ...rest] = await (await subscribe(id, seen.at(-1)!.id)).remaining();
    expect(countOf(snapshot!)).toBe(10);
    expect(counts(rest)).toEqual(counting(11, 40));
  });
});

describe('a stream of v0.3', () => {
  const send = (text: string, message = {}) => ({
    message: { kind: 'message', messageId: randomUUID(), role: 'user', parts: [{ kind: 'text', text }], ...message },
  });

  // [A2A-03-3]
  it('says in its last status that it is final, and in no other', async () => {
    const frames = await (await openV03('message/stream', send('count 3'))).remaining();
    expect(frames[0]!.result).toMatchObject({ kind: 'task', status: { state: expect.any(String) } });
    const statuses = frames.filter(({ result }) => result.kind === 'status-update');
    expect(statuses.map(({ result }) => result.final)).toEqual([...statuses.slice(1).map(() => false), true]);
    expect(frames.at(-1)!.result).toMatchObject({ kind: 'status-update', status: { state: 'completed' }, final: true });
  });

  // [A2A-03-4]
  it('is final, and closes, when the agent asks for something; a subscription does, too', async () => {
    const sent = await openV03('message/stream', send('count 30 every 10 ask'));
    const { id } = (await sent.next())!.result as { id: string };
    const watching = await openV03('tasks/resubscribe', { id });
    for (const frames of await Promise.all([sent.remaining(), watching.remaining()])) {
      expect(frames.at(-1)!.result).toMatchObject({ status: { state: 'input-required' }, final: true });
    }
  });

  it('refuses an ended task, and resumes one that ended after the last id', async () => {
    const frames = await (await openV03('message/stream', send('count 3'))).remaining();
    const { id } = frames[0]!.result as unknown as { id: string };
    expect(await refusal('tasks/resubscribe', { id }, {}, '0.3')).toMatchObject({ code: expect.any(Number) });
    const [, ...rest] = await (await openV03('tasks/resubscribe', { id }, 4)).remaining();
    expect(rest).toEqual(frames.filter((frame) => frame.id > 4));
  });
});

describe('an open stream', () => {
  it.each([
    ['is revoked', null, (token: string) => database.revokeKey(token)],
    ['has expired', 2_000, () => undefined],
  ])('ends when its credential %s', async (_how, lifetimeMs, withdraw) => {
    const expiresAt = lifetimeMs === null ? {} : { expiresAt: new Date(Date.now() + lifetimeMs) };
    const token = await database.createKey({ subject: randomUUID(), ...expiresAt });
    const carol = new V1Caller(server.url, token);
    const { id } = await carol.start('count 3000 every 10');
    const watching = await TaskStream.open(server.url, token, 'SubscribeToTask', { id });
    expect((await watching.next())!.result.task).toMatchObject({ id });
    await withdraw(token);
    const frames = await watching.remaining();
    expect(stateOf(frames.at(-1)!)).toBe('TASK_STATE_WORKING');
    expect((await call(server.url, token, '1.0', 'GetTask', { id })).status).toBe(401);
  });

  // [A2A-STREAM-4]
  it('of one client goes on when the one of another is cut', async () => {
    const { id } = await caller.start('count 30 every 10');
    const [leaving, staying] = await Promise.all([subscribe(id), subscribe(id)]);
    await leaving.next();
    leaving.close();
    expect(counts(await staying.remaining()).at(-1)).toBe(30);
  });
});
