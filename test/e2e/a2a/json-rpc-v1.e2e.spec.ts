import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '@app/domain';
import { call, eventually, http, sendParams } from '../../support/clients/rpc.js';
import { useServer } from '../../support/processes/spec-server.js';
import { TOKEN } from '../../support/processes/start-server.js';

const server = useServer();

describe('CancelTask', () => {
  // F18, [A2A-CANCEL-1], [A2A-CANCEL-2]
  it('returns the task in its final state, also when it is repeated', async () => {
    const task = await server.caller.start('sleep 60s');
    const canceled = await server.caller.cancel(task.id);
    expect(canceled).toMatchObject({ id: task.id, status: { state: 'TASK_STATE_CANCELED' } });
    expect((await server.caller.cancel(task.id)).status).toEqual(canceled.status);
    expect((await server.caller.get(task.id)).status).toEqual(canceled.status);
  });

  it('cancels a task that requires input', async () => {
    const waiting = await server.caller.send('ask');
    expect((await server.caller.cancel(waiting.id)).status.state).toBe('TASK_STATE_CANCELED');
  });

  it('returns the same final state as the blocking send of the task', async () => {
    const messageId = randomUUID();
    const blockingSend = server.caller.send('sleep 60s', { message: { messageId } });
    const { tasks } = await eventually(
      () => server.caller.list({ status: 'TASK_STATE_WORKING', historyLength: 1 }),
      (page) => page.tasks.some(({ history }) => history?.[0]?.messageId === messageId),
    );
    const { id } = tasks.find(({ history }) => history?.[0]?.messageId === messageId)!;
    const canceled = await server.caller.cancel(id);
    expect((await blockingSend).status).toEqual(canceled.status);
  });

  // [A2A-CANCEL-3]
  it('rejects a completed task, and does not change it', async () => {
    const task = await server.caller.send('hello');
    expect((await server.caller.call('CancelTask', { id: task.id })).body.error).toMatchObject({ code: -32002 });
    expect(await server.caller.get(task.id)).toEqual(task);
  });
});

describe('ListTasks', () => {
  // [A2A-LIST-1], [A2A-LIST-2]
  it('returns pages with the newest tasks first and every required field', async () => {
    const contextId = randomUUID();
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push((await server.caller.send(`no ${n}`, { message: { contextId } })).id);
    const first = await server.caller.list({ contextId, pageSize: 3 });
    expect(first).toMatchObject({ totalSize: 5, pageSize: 3, nextPageToken: expect.stringMatching(/./) });
    const second = await server.caller.list({ contextId, pageSize: 3, pageToken: first.nextPageToken });
    expect(second).toMatchObject({ totalSize: 5, pageSize: 3, nextPageToken: '' });
    expect([...first.tasks, ...second.tasks].map(({ id }) => id)).toEqual(ids.toReversed());
    expect(first.tasks[0]).not.toHaveProperty('artifacts');
    expect(first.tasks[0]).not.toHaveProperty('history');
    const full = await server.caller.list({ contextId, pageSize: 1, includeArtifacts: true, historyLength: 1 });
    expect(full.tasks[0]).toMatchObject({
      artifacts: [{ parts: [{ text: 'NO 4' }] }],
      history: [{ role: 'ROLE_USER' }],
    });
    const none = await server.caller.list({ contextId: randomUUID() });
    expect(none).toEqual({ tasks: [], totalSize: 0, pageSize: 50, nextPageToken: '' });
  });

  // [A2A-LIST-3]
  it('filters by status, and by the time of the status inclusively', async () => {
    const contextId = randomUUID();
    const early = await server.caller.send('early', { message: { contextId } });
    const late = await server.caller.send('fail', { message: { contextId } });
    const failed = await server.caller.list({ contextId, status: 'TASK_STATE_FAILED' });
    expect(failed.tasks.map(({ id }) => id)).toEqual([late.id]);
    // F26
    const since = await server.caller.list({ contextId, statusTimestampAfter: late.status.timestamp });
    expect(since.tasks.map(({ id }) => id)).toContain(late.id);
    const all = await server.caller.list({ contextId, statusTimestampAfter: early.status.timestamp });
    expect(all.totalSize).toBe(2);
  });

  // F27, [A2A-LIST-4]
  it.each([0, 101, -1, 2.5, '10'])('rejects the page size %j', async (pageSize) => {
    const { body } = await server.caller.call('ListTasks', { pageSize });
    expect(body.error).toMatchObject({ code: -32602, message: expect.stringContaining('pageSize') });
  });

  // F25
  it('rejects a page token that is changed or belongs to a different query', async () => {
    const contextId = randomUUID();
    for (const text of ['a', 'b']) await server.caller.send(text, { message: { contextId } });
    const { nextPageToken } = await server.caller.list({ contextId, pageSize: 1 });
    const altered = `${nextPageToken.startsWith('A') ? 'B' : 'A'}${nextPageToken.slice(1)}`;
    const wrong: JsonObject[] = [
      { contextId, pageToken: altered },
      { pageToken: nextPageToken },
      { contextId, pageToken: 'x' },
    ];
    for (const params of wrong) {
      expect((await server.caller.call('ListTasks', params)).body.error).toMatchObject({ code: -32602 });
    }
  });
});

describe('An error of JSON-RPC', () => {
  // [A2A-ERROR-1], [A2A-ERROR-2], [A2A-ERROR-3]
  it('has google.rpc details with the reason and the invalid fields', async () => {
    const { body, headers } = await server.caller.call('SendMessage', { message: { role: 'ROLE_USER', parts: [] } });
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
});

describe('JSON-RPC of A2A 1.0', () => {
  it('rejects a tenant that is not the tenant of the credential, and a ring that the caller is not in', async () => {
    const foreign = await server.caller.call('ListTasks', { tenant: 'another' });
    expect(foreign.body.error).toMatchObject({ code: -32602 });
    expect((await server.caller.call('ListTasks', { tenant: 'default' })).body.result).toBeDefined();
    const ring = await server.caller.call(
      'SendMessage',
      sendParams('hi', { message: { metadata: { ring: 'ring:none' } } }),
    );
    expect(ring.body.error).toMatchObject({ code: -32602, message: expect.stringContaining('metadata.ring') });
  });

  // F28, [A2A-VERSION-2]
  it.each(['1.0.0', '1', '0.3.0', '2.0', '1.0, 0.3', 'v1.0', 'constructor'])(
    'rejects the A2A-Version %j for every method',
    async (version) => {
      for (const method of ['GetTask', 'tasks/get']) {
        const { body, headers } = await call(server.url, TOKEN, version, method, { id: 'x' });
        expect(body.error?.code).toBe(-32009);
        expect(headers.get('vary')).toBe('A2A-Version');
      }
    },
  );

  // F28: HTTP itself removes spaces around the value of a header.
  // [A2A-VERSION-3]
  it('ignores spaces around A2A-Version, and reads an empty A2A-Version as 0.3', async () => {
    expect((await call(server.url, TOKEN, ' 1.0 ', 'ListTasks', {})).body.result).toBeDefined();
    expect((await call(server.url, TOKEN, '', 'tasks/get', { id: 'x' })).body.error?.code).toBe(-32001);
  });

  // F29, [A2A-VERSION-1]
  it.each(['message/send', 'tasks/get', 'tasks/cancel', 'Sendmessage', '__proto__', 'constructor', 'GetTask '])(
    'has no method %j',
    async (name) => {
      expect((await server.caller.call(name, { id: 'x' })).body.error).toMatchObject({ code: -32601 });
    },
  );

  it.each(['GET', 'PUT', 'DELETE'])('returns 405 with POST as the allowed method for %s', async (verb) => {
    const { status, headers, text } = await http(verb, `${server.url}/a2a`, TOKEN);
    expect([status, headers.get('allow')]).toEqual([405, 'POST']);
    expect(JSON.parse(text)).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32601 } });
  });

  // [A2A-AUTH-1]
  it('returns 401 with a challenge if the credential is missing or wrong', async () => {
    for (const token of [null, 'wrong', 'acta_'.padEnd(48, 'x')]) {
      const { status, headers, body } = await call(server.url, token, '1.0', 'ListTasks', {});
      expect(status).toBe(401);
      expect(headers.get('www-authenticate')).toBe('Bearer');
      expect(body).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: expect.any(Number) } });
    }
  });

  // [A2A-RPC-2]
  it.each([
    ['a string', '/a2a'],
    [12, '/a2a/'],
    [null, '/a2a'],
  ])('returns the request id %j at the path %s, with Vary: A2A-Version', async (id, path) => {
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
  });
});
