import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '@app/domain';
import { call, http, sendParams, sendParamsV03, V1Caller } from '../../support/clients/rpc.js';
import { countOf, countsIn, type Frame, integers, stateOf, TaskStream } from '../../support/clients/task-stream.js';
import { useServer } from '../../support/processes/spec-server.js';
import { TOKEN } from '../../support/processes/start-server.js';
import { COUNTER } from '../agents/modules/agent-modules.js';

const server = useServer({ ACTA_AGENTS: COUNTER });

const open = (method: string, params: JsonObject, lastEventId?: number | string) =>
  TaskStream.open(server.url, TOKEN, method, params, lastEventId === undefined ? {} : { lastEventId });
const subscribe = (id: string, lastEventId?: number | string) => open('SubscribeToTask', { id }, lastEventId);
const stream = (text: string, message = {}) => open('SendStreamingMessage', sendParams(text, { message }));
const openV03 = (method: string, params: JsonObject, lastEventId?: number) =>
  TaskStream.open(server.url, TOKEN, method, params, {
    version: '0.3',
    ...(lastEventId === undefined ? {} : { lastEventId }),
  });

const idsOf = (frames: readonly Frame[]) => frames.map(({ id }) => id);
const isAscending = (ids: readonly number[]) => ids.every((id, index) => index === 0 || id >= ids[index - 1]!);

/** Requests a stream that the server rejects, and returns its error, which is the only event of the stream. */
async function streamError(method: string, params: object, headers: Record<string, string> = {}, version = '1.0') {
  const response = await http('POST', `${server.url}/a2a`, TOKEN, {
    headers: { 'A2A-Version': version, Accept: 'text/event-stream', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }),
  });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  const [, event] = /^data: (.+)\n\n$/.exec(response.text)!;
  const { id, error } = JSON.parse(event!) as { id: number; error: { code: number; message: string } };
  expect(id).toBe(7);
  return { status: response.status, ...error };
}

describe('SendStreamingMessage', () => {
  // [A2A-STREAM-1], [A2A-STREAM-3]
  it('sends the task, then every change in order, and ends when the task has ended', async () => {
    const frames = await (await stream('count 5')).remaining();
    expect(Object.keys(frames[0]!.result)).toEqual(['task']);
    expect(countsIn(frames)).toEqual([1, 2, 3, 4, 5]);
    expect(frames.at(-2)!.result.artifactUpdate!.artifact.parts).toEqual([{ text: 'counted to 5' }]);
    expect(stateOf(frames.at(-1)!)).toBe('TASK_STATE_COMPLETED');
    expect(isAscending(idsOf(frames))).toBe(true);
    const { id } = frames[0]!.result.task!;
    expect(await server.caller.get(id)).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } });
    expect(idsOf(frames).at(-1)).toBe((await server.database.eventTypes(id)).length);
  });

  // [A2A-STREAM-2]
  it('sends a direct message response as its only event', async () => {
    const frames = await (await stream('reply')).remaining();
    expect(frames).toHaveLength(1);
    expect(frames[0]!.result).toEqual({
      message: expect.objectContaining({ role: 'ROLE_AGENT', parts: [{ text: 'counted nothing' }] }),
    });
  });

  // [A2A-STREAM-5]
  it('ends when the agent requires input, and the next message continues the task in a new stream', async () => {
    const first = await (await stream('count 2 ask')).remaining();
    expect(stateOf(first.at(-1)!)).toBe('TASK_STATE_INPUT_REQUIRED');
    const { id } = first[0]!.result.task!;
    const second = await (await stream('count 3', { taskId: id })).remaining();
    expect(second[0]!.result.task).toMatchObject({ id });
    expect(stateOf(second.at(-1)!)).toBe('TASK_STATE_COMPLETED');
    expect(countsIn(second)).toEqual([1, 2, 3]);
    expect(second[0]!.id).toBeGreaterThan(first.at(-1)!.id);
  });

  it('sends the task of a repeated message, to its end if it is active and in its final state if it has ended', async () => {
    const params = sendParams('count 20 every 10');
    const first = await open('SendStreamingMessage', params);
    const { id } = (await first.next())!.result.task!;
    const second = await open('SendStreamingMessage', params);
    const [ofFirst, ofSecond] = await Promise.all([first.remaining(), second.remaining()]);
    expect(ofSecond[0]!.result.task).toMatchObject({ id });
    expect(stateOf(ofSecond.at(-1)!)).toBe('TASK_STATE_COMPLETED');
    expect(ofSecond.at(-1)).toEqual(ofFirst.at(-1));
    const ended = await (await open('SendStreamingMessage', params)).remaining();
    expect(ended.map(({ result }) => result)).toEqual([{ task: await server.caller.get(id) }]);
    expect((await server.database.eventTypes(id)).filter((type) => type === 'RunStarted')).toHaveLength(1);
  });

  it('sends the same direct message response for a repeated message', async () => {
    const params = sendParams('reply');
    const first = await (await open('SendStreamingMessage', params)).remaining();
    expect(await (await open('SendStreamingMessage', params)).remaining()).toEqual(first);
  });

  it('returns an error and no update if the message is invalid or its task is unknown', async () => {
    expect(await streamError('SendStreamingMessage', { message: { messageId: 'm' } })).toMatchObject({ code: -32602 });
    const unknown = sendParams('hello', { message: { taskId: randomUUID() } });
    expect(await streamError('SendStreamingMessage', unknown)).toMatchObject({ code: -32001 });
  });
});

describe('SubscribeToTask', () => {
  // F8, [A2A-SUB-1]
  it('misses no event between the snapshot and the first event, at any time', async () => {
    let subscribed = 0;
    for (let round = 0; round < 4; round += 1) {
      const { id } = await server.caller.start('count 60 every 12');
      const races = integers(0, 14).map(async (index) => {
        await new Promise((resolve) => setTimeout(resolve, index * 11));
        const frames = await (await subscribe(id)).remaining().catch((error: Error) => {
          // The task had ended before this subscription arrived.
          if (error.message.includes('has no further events')) return null;
          throw error;
        });
        if (frames === null) return;
        subscribed += 1;
        const [snapshot, ...events] = frames;
        expect(Object.keys(snapshot!.result)).toEqual(['task']);
        // From the first status on, each event is one frame, so the ids and the numbers have no gap.
        if (events[0]!.id > 3) expect(idsOf(frames)).toEqual(integers(snapshot!.id, snapshot!.id + events.length));
        expect(countsIn(frames)).toEqual(integers(countOf(snapshot!) ?? 1, 60));
      });
      await Promise.all(races);
    }
    expect(subscribed).toBeGreaterThan(0);
  });

  // [A2A-SUB-2]
  it('stays open while the agent waits for input, and ends with the task', async () => {
    const { id } = await server.caller.start('count 3 every 30 ask');
    const watching = await subscribe(id);
    const before = await watching.until((frame) => stateOf(frame) === 'TASK_STATE_INPUT_REQUIRED');
    expect(countsIn(before).at(-1)).toBe(3);
    await server.caller.send('count 2', { message: { taskId: id } });
    const after = await watching.remaining();
    expect(countsIn(after)).toEqual([1, 2]);
    expect(stateOf(after.at(-1)!)).toBe('TASK_STATE_COMPLETED');
  });

  it('starts immediately with the task if it requires input', async () => {
    const { id } = await server.caller.send('ask');
    const watching = await subscribe(id);
    expect(stateOf((await watching.next())!)).toBe('TASK_STATE_INPUT_REQUIRED');
    await server.caller.cancel(id);
    expect(stateOf((await watching.remaining()).at(-1)!)).toBe('TASK_STATE_CANCELED');
  });

  // F10, [A2A-SUB-3]
  it('rejects an ended task with a different error from that of a missing task', async () => {
    const { id } = await server.caller.send('count 1');
    expect(await streamError('SubscribeToTask', { id })).toMatchObject({ status: 200, code: -32004 });
    expect(await streamError('SubscribeToTask', { id: randomUUID() })).toMatchObject({ status: 200, code: -32001 });
  });

  // F10
  it('sends the remaining events of an ended task after Last-Event-ID, and rejects the id of the last event', async () => {
    const all = await (await stream('count 5')).remaining();
    const { id } = all[0]!.result.task!;
    const end = all.at(-1)!.id;
    for (const from of [3, 5, end - 1]) {
      const [snapshot, ...after] = await (await subscribe(id, from)).remaining();
      expect(snapshot).toMatchObject({ id: from, result: { task: { id, status: { state: 'TASK_STATE_WORKING' } } } });
      expect(after).toEqual(all.slice(1).filter((frame) => frame.id > from));
    }
    expect(await streamError('SubscribeToTask', { id }, { 'Last-Event-ID': String(end) })).toMatchObject({
      code: -32004,
    });
  });

  // F10
  it.each(['0', '-1', '1.5', 'x', '01', '1e1', '9999999999', '1, 2'])(
    'rejects the Last-Event-ID %j',
    async (lastEventId) => {
      const { id } = await server.caller.send('count 1');
      const error = await streamError('SubscribeToTask', { id }, { 'Last-Event-ID': lastEventId });
      expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('Last-Event-ID') });
    },
  );

  it('rejects a Last-Event-ID beyond the version of an active task', async () => {
    const { id } = await server.caller.send('ask');
    const error = await streamError('SubscribeToTask', { id }, { 'Last-Event-ID': '100' });
    expect(error).toMatchObject({ code: -32602 });
  });

  it('sends the task as of Last-Event-ID, and no event twice', async () => {
    const { id } = await server.caller.start('count 40 every 10');
    const watching = await subscribe(id);
    const before = await watching.until((frame) => countOf(frame) === 10);
    watching.close();
    const [snapshot, ...after] = await (await subscribe(id, before.at(-1)!.id)).remaining();
    expect(countOf(snapshot!)).toBe(10);
    expect(countsIn(after)).toEqual(integers(11, 40));
  });
});

describe('A stream of A2A 0.3', () => {
  // [A2A-03-3]
  it('marks its last status as final, and no other', async () => {
    const frames = await (await openV03('message/stream', sendParamsV03('count 3'))).remaining();
    expect(frames[0]!.result).toMatchObject({ kind: 'task', status: { state: expect.any(String) } });
    const statuses = frames.filter(({ result }) => result.kind === 'status-update');
    expect(statuses.map(({ result }) => result.final)).toEqual([...statuses.slice(1).map(() => false), true]);
    expect(frames.at(-1)!.result).toMatchObject({ kind: 'status-update', status: { state: 'completed' }, final: true });
  });

  // [A2A-03-4]
  it('ends with a final status when the agent requires input, also as a subscription', async () => {
    const sent = await openV03('message/stream', sendParamsV03('count 30 every 10 ask'));
    const { id } = (await sent.next())!.result as { id: string };
    const watching = await openV03('tasks/resubscribe', { id });
    for (const frames of await Promise.all([sent.remaining(), watching.remaining()])) {
      expect(frames.at(-1)!.result).toMatchObject({ status: { state: 'input-required' }, final: true });
    }
  });

  it('is rejected for an ended task, except with an earlier Last-Event-ID', async () => {
    const frames = await (await openV03('message/stream', sendParamsV03('count 3'))).remaining();
    const { id } = frames[0]!.result as unknown as { id: string };
    expect(await streamError('tasks/resubscribe', { id }, {}, '0.3')).toMatchObject({ code: expect.any(Number) });
    const [, ...after] = await (await openV03('tasks/resubscribe', { id }, 4)).remaining();
    expect(after).toEqual(frames.filter((frame) => frame.id > 4));
  });
});

describe('An open stream', () => {
  it.each([
    ['is revoked', null, (token: string) => server.database.revokeKey(token)],
    ['expires', 2_000, () => undefined],
  ])('ends when its credential %s', async (_how, lifetimeMs, withdraw) => {
    const expiresAt = lifetimeMs === null ? {} : { expiresAt: new Date(Date.now() + lifetimeMs) };
    const token = await server.database.createKey({ subject: randomUUID(), ...expiresAt });
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
  it('continues when the stream of another client is closed', async () => {
    const { id } = await server.caller.start('count 30 every 10');
    const [first, second] = await Promise.all([subscribe(id), subscribe(id)]);
    await first.next();
    first.close();
    expect(countsIn(await second.remaining()).at(-1)).toBe(30);
  });
});
