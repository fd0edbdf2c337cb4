import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '@app/domain';
import { call, eventually, sendParams, V1Caller } from '../../support/clients/rpc.js';
import { type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';

let server: RunningServer;
let caller: V1Caller;

beforeAll(async () => {
  server = await startServer();
  caller = new V1Caller(server.url, TOKEN);
}, 90_000);
afterAll(() => server?.stop());

describe('SendMessage', () => {
  // [A2A-SEND-1], [A2A-SEND-2], [A2A-TURN-3], [A2A-JSON-2]
  it('waits for the outcome, and gives the finished task with its artifact', async () => {
    const task = await caller.send('hello');
    expect(task).toMatchObject({
      id: expect.any(String),
      contextId: expect.any(String),
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ artifactId: 'text', name: 'Upper-cased text', parts: [{ text: 'HELLO' }] }],
      history: [{ role: 'ROLE_USER', parts: [{ text: 'hello' }], taskId: task.id, contextId: task.contextId }],
    });
    expect(task.status.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  // [A2A-SEND-3]
  it('answers at once when asked to, and the task goes on', async () => {
    const task = await caller.start('later sleep 300ms');
    expect(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING']).toContain(task.status.state);
    const ended = await eventually(
      () => caller.get(task.id),
      ({ status }) => status.state === 'TASK_STATE_COMPLETED',
    );
    expect(ended.artifacts?.[0]?.parts).toEqual([{ text: 'LATER SLEEP 300MS' }]);
  });

  // [A2A-SEND-1]
  it('answers with a bare message when the agent replies without a task', async () => {
    const { body } = await caller.call('SendMessage', sendParams('reply to me'));
    expect(body.result).toMatchObject({ message: { role: 'ROLE_AGENT', parts: [{ text: 'REPLY TO ME' }] } });
    expect(body.result).not.toHaveProperty('task');
  });

  it.each([
    ['fail', 'TASK_STATE_FAILED', 'failed, as asked'],
    ['reject', 'TASK_STATE_REJECTED', 'rejected, as asked'],
  ])('gives the task that the agent let %s, with the reason', async (text, state, reason) => {
    const task = await caller.send(text);
    expect(task.status).toMatchObject({ state, message: { parts: [{ text: reason }] } });
  });

  // [A2A-SEND-2], [A2A-TURN-1]
  it('returns when the agent asks for input, and the answer goes on with the same task', async () => {
    const asked = await caller.send('ask');
    expect(asked.status).toMatchObject({
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: { parts: [{ text: 'What should I upper-case?' }] },
    });
    const answered = await caller.send('this', { message: { taskId: asked.id, contextId: asked.contextId } });
    expect(answered).toMatchObject({ id: asked.id, status: { state: 'TASK_STATE_COMPLETED' } });
    expect(answered.artifacts?.[0]?.parts).toEqual([{ text: 'THIS' }]);
    expect(answered.history?.map(({ parts }) => parts[0]?.text)).toEqual(['ask', 'What should I upper-case?', 'this']);
  });

  // [A2A-HIST-1]
  it('shows at most historyLength messages', async () => {
    expect((await caller.send('one', { configuration: { historyLength: 0 } })).history).toBeUndefined();
    expect((await caller.send('two', { configuration: { historyLength: 5 } })).history).toHaveLength(1);
  });

  // F1, [A2A-SEND-4]
  it('answers an exact replay with the same task', async () => {
    const params = sendParams('once');
    const [first, second] = [await caller.call('SendMessage', params), await caller.call('SendMessage', params)];
    expect(second.body).toEqual(first.body);
  });

  // F4
  it('refuses a known messageId with other content, and leaves the task as it is', async () => {
    const messageId = randomUUID();
    const task = await caller.send('first', { message: { messageId } });
    const others: JsonObject[] = [
      { parts: [{ text: 'second' }] },
      { parts: [{ text: 'first' }], metadata: { more: true } },
      { parts: [{ text: 'first' }, { text: 'and more' }] },
    ];
    for (const other of others) {
      const { body } = await caller.call('SendMessage', { message: { messageId, role: 'ROLE_USER', ...other } });
      expect(body.error).toMatchObject({ code: -32602, message: expect.stringContaining('message.messageId') });
    }
    expect(await caller.get(task.id)).toEqual(task);
  });

  // F5
  it('puts a message to a working task into its history, and starts no second run', async () => {
    const task = await caller.start('sleep 500ms');
    const during = await caller.send('meanwhile', { message: { taskId: task.id } });
    expect(during).toMatchObject({ id: task.id, status: { state: 'TASK_STATE_COMPLETED' } });
    const said = during.history?.filter(({ role }) => role === 'ROLE_USER').map(({ parts }) => parts[0]?.text);
    expect(said).toEqual(['sleep 500ms', 'meanwhile']);
    expect(during.metadata?.['acta/run']).toMatchObject({ attempt: 1 });
  });

  // F7, [A2A-SEND-6], [A2A-TURN-2]
  it('refuses a taskId that does not exist, and a contextId that is not the one of the task', async () => {
    const before = await caller.list();
    const { body } = await caller.call('SendMessage', sendParams('hi', { message: { taskId: randomUUID() } }));
    expect(body.error).toMatchObject({ code: -32001, message: 'task not found' });
    const asked = await caller.send('ask');
    const wrong = sendParams('hi', { message: { taskId: asked.id, contextId: randomUUID() } });
    expect((await caller.call('SendMessage', wrong)).body.error).toMatchObject({ code: -32602 });
    expect((await caller.list()).totalSize).toBe(before.totalSize + 1);
  });

  // [A2A-SEND-5]
  it('refuses a message to an ended task as an unsupported operation', async () => {
    const task = await caller.send('hello');
    const { body } = await caller.call('SendMessage', sendParams('more', { message: { taskId: task.id } }));
    expect(body.error).toMatchObject({ code: -32004 });
  });
});

describe('CancelTask', () => {
  // F18, [A2A-CANCEL-1], [A2A-CANCEL-2]
  it('gives the task in its final state, and again when it is repeated', async () => {
    const task = await caller.start('sleep 60s');
    const canceled = await caller.cancel(task.id);
    expect(canceled).toMatchObject({ id: task.id, status: { state: 'TASK_STATE_CANCELED' } });
    expect((await caller.cancel(task.id)).status).toEqual(canceled.status);
    expect((await caller.get(task.id)).status).toEqual(canceled.status);
  });

  it('cancels a task that waits for input', async () => {
    const asked = await caller.send('ask');
    expect((await caller.cancel(asked.id)).status.state).toBe('TASK_STATE_CANCELED');
  });

  it('tells the blocking sender of the task the same end', async () => {
    const messageId = randomUUID();
    const waiting = caller.send('sleep 60s', { message: { messageId } });
    const { tasks } = await eventually(
      () => caller.list({ status: 'TASK_STATE_WORKING', historyLength: 1 }),
      (page) => page.tasks.some(({ history }) => history?.[0]?.messageId === messageId),
    );
    const { id } = tasks.find(({ history }) => history?.[0]?.messageId === messageId)!;
    const canceled = await caller.cancel(id);
    expect((await waiting).status).toEqual(canceled.status);
  });

  // [A2A-CANCEL-3]
  it('refuses a task that had ended otherwise', async () => {
    const task = await caller.send('hello');
    expect((await caller.call('CancelTask', { id: task.id })).body.error).toMatchObject({ code: -32002 });
    expect(await caller.get(task.id)).toEqual(task);
  });
});

describe('ListTasks', () => {
  // [A2A-LIST-1], [A2A-LIST-2]
  it('gives pages of the newest tasks first, with every required field', async () => {
    const contextId = randomUUID();
    const ids: string[] = [];
    for (let at = 0; at < 5; at += 1) ids.push((await caller.send(`no ${at}`, { message: { contextId } })).id);
    const first = await caller.list({ contextId, pageSize: 3 });
    expect(first).toMatchObject({ totalSize: 5, pageSize: 3, nextPageToken: expect.stringMatching(/./) });
    const second = await caller.list({ contextId, pageSize: 3, pageToken: first.nextPageToken });
    expect(second).toMatchObject({ totalSize: 5, pageSize: 3, nextPageToken: '' });
    expect([...first.tasks, ...second.tasks].map(({ id }) => id)).toEqual(ids.toReversed());
    expect(first.tasks[0]).not.toHaveProperty('artifacts');
    expect(first.tasks[0]).not.toHaveProperty('history');
    const full = await caller.list({ contextId, pageSize: 1, includeArtifacts: true, historyLength: 1 });
    expect(full.tasks[0]).toMatchObject({
      artifacts: [{ parts: [{ text: 'NO 4' }] }],
      history: [{ role: 'ROLE_USER' }],
    });
    const none = await caller.list({ contextId: randomUUID() });
    expect(none).toEqual({ tasks: [], totalSize: 0, pageSize: 50, nextPageToken: '' });
  });

  // [A2A-LIST-3]
  it('filters by status and, inclusively, by the time of the status', async () => {
    const contextId = randomUUID();
    const early = await caller.send('early', { message: { contextId } });
    const late = await caller.send('fail', { message: { contextId } });
    const failed = await caller.list({ contextId, status: 'TASK_STATE_FAILED' });
    expect(failed.tasks.map(({ id }) => id)).toEqual([late.id]);
    // F26
    const since = await caller.list({ contextId, statusTimestampAfter: late.status.timestamp });
    expect(since.tasks.map(({ id }) => id)).toContain(late.id);
    const all = await caller.list({ contextId, statusTimestampAfter: early.status.timestamp });
    expect(all.totalSize).toBe(2);
  });

  // F27, [A2A-LIST-4]
  it.each([0, 101, -1, 2.5, '10'])('refuses a page size of %p', async (pageSize) => {
    const { body } = await caller.call('ListTasks', { pageSize });
    expect(body.error).toMatchObject({ code: -32602, message: expect.stringContaining('pageSize') });
  });

  // F25
  it('refuses a token that was altered, or that belongs to another question', async () => {
    const contextId = randomUUID();
    for (const text of ['a', 'b']) await caller.send(text, { message: { contextId } });
    const { nextPageToken } = await caller.list({ contextId, pageSize: 1 });
    const altered = `${nextPageToken.startsWith('A') ? 'B' : 'A'}${nextPageToken.slice(1)}`;
    const wrong: JsonObject[] = [
      { contextId, pageToken: altered },
      { pageToken: nextPageToken },
      { contextId, pageToken: 'x' },
    ];
    for (const params of wrong) {
      expect((await caller.call('ListTasks', params)).body.error).toMatchObject({ code: -32602 });
    }
  });
});

describe('errors', () => {
  // [A2A-ERROR-1], [A2A-ERROR-2], [A2A-ERROR-3]
  it('carry google.rpc details: the reason, and the fields that are wrong', async () => {
    const { body, headers } = await caller.call('SendMessage', { message: { role: 'ROLE_USER', parts: [] } });
    expect(headers.get('content-type')).toMatch(/^application\/json\b/);
    expect(body.error).toMatchObject({
      code: -32602,
      data: [
        {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          reason: 'INVALID_PARAMS',
          domain: 'a2a-protocol.org',
        },
        {
          '@type': 'type.googleapis.com/google.rpc.BadRequest',
          fieldViolations: expect.arrayContaining([
            { field: 'message.messageId', description: 'is required' },
            { field: 'message.parts', description: 'at least one part is required' },
          ]),
        },
      ],
    });
  });

  it('refuses a tenant that is not the one of the credential, and a ring that the caller is not in', async () => {
    const foreign = await caller.call('ListTasks', { tenant: 'another' });
    expect(foreign.body.error).toMatchObject({ code: -32602 });
    expect((await caller.call('ListTasks', { tenant: 'default' })).body.result).toBeDefined();
    const ring = await caller.call('SendMessage', sendParams('hi', { message: { metadata: { ring: 'ring:none' } } }));
    expect(ring.body.error).toMatchObject({ code: -32602, message: expect.stringContaining('metadata.ring') });
  });

  // F28, [A2A-VERSION-2]
  it.each(['1.0.0', '1', '0.3.0', '2.0', '1.0, 0.3', 'v1.0', 'constructor'])(
    'refuses the version %p, whatever the method',
    async (version) => {
      for (const method of ['GetTask', 'tasks/get']) {
        const { body, headers } = await call(server.url, TOKEN, version, method, { id: 'x' });
        expect(body.error?.code).toBe(-32009);
        expect(headers.get('vary')).toBe('A2A-Version');
      }
    },
  );

  // F28: HTTP itself takes blanks around a header's value off.
  // [A2A-VERSION-3]
  it('takes blanks around the version for nothing, and an empty version for 0.3', async () => {
    expect((await call(server.url, TOKEN, ' 1.0 ', 'ListTasks', {})).body.result).toBeDefined();
    expect((await call(server.url, TOKEN, '', 'tasks/get', { id: 'x' })).body.error?.code).toBe(-32001);
  });

  // F29, [A2A-VERSION-1]
  it('knows no method of v0.3, and none that only looks like one', async () => {
    const names = ['message/send', 'tasks/get', 'tasks/cancel', 'Sendmessage', '__proto__', 'constructor', 'GetTask '];
    for (const name of names) {
      expect((await caller.call(name, { id: 'x' })).body.error).toMatchObject({ code: -32601 });
    }
  });

  // [A2A-AUTH-1]
  it('answers without a credential, or with a wrong one, with 401 and a challenge', async () => {
    for (const token of [null, 'wrong', 'acta_'.padEnd(48, 'x')]) {
      const { status, headers, body } = await call(server.url, token, '1.0', 'ListTasks', {});
      expect(status).toBe(401);
      expect(headers.get('www-authenticate')).toBe('Bearer');
      expect(body).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: expect.any(Number) } });
    }
  });
});

// [A2A-RPC-2]
it('answers on /a2a/ as on /a2a, with the id of the request, and says on what the answer depends', async () => {
  for (const [path, id] of [
    ['/a2a', 'a string'],
    ['/a2a/', 12],
    ['/a2a', null],
  ] as const) {
    const response = await fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json; charset=utf-8',
        'A2A-Version': '1.0',
        Authorization: `Bearer ${TOKEN}`,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id, method: 'ListTasks' }),
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('vary')).toBe('A2A-Version');
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', id, result: { tasks: expect.any(Array) } });
  }
});
