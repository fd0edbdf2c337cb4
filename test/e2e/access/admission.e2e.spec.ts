import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { http, sendParams, sendParamsV03, V1Caller } from '../../support/clients/rpc.js';
import { useServer } from '../../support/processes/spec-server.js';
import { startWorker, TOKEN } from '../../support/processes/start-server.js';

const server = useServer({
  ACTA_WORKER_CONCURRENCY: '0',
  ACTA_TENANT_MAX_QUEUED: '2',
  ACTA_TENANT_MAX_RUNNING: '1',
});
const first = { messageId: randomUUID() };
const second = { messageId: randomUUID() };

beforeAll(async () => {
  await server.caller.start('one', first);
  await server.caller.start('two', second);
});

const rpc = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params });
const RPC_ERROR = { id: 1, error: { code: expect.any(Number) } };

const SENDS: [name: string, version: string, path: string, body: object, expected: object][] = [
  ['SendMessage', '1.0', 'a2a', rpc('SendMessage', sendParams('hi')), RPC_ERROR],
  ['SendStreamingMessage', '1.0', 'a2a', rpc('SendStreamingMessage', sendParams('hi')), RPC_ERROR],
  ['message/send', '0.3', 'a2a', rpc('message/send', sendParamsV03('hi')), RPC_ERROR],
  [
    'POST /a2a/v1/message:send',
    '1.0',
    'a2a/v1/message:send',
    sendParams('hi'),
    { error: { code: 503, status: 'UNAVAILABLE' } },
  ],
  [
    'POST /a2a/tasks',
    '',
    'a2a/tasks',
    { input: 'hi' },
    { error: expect.stringMatching(/^the tenant has 2 queued tasks/) },
  ],
];

describe('A tenant whose queue is full', () => {
  it.each(SENDS)(
    'gets 503 with Retry-After for %s, and nothing is stored',
    async (_name, version, path, body, expected) => {
      const before = await server.database.rowCounts();
      const response = await http('POST', `${server.url}/${path}`, TOKEN, {
        headers: { 'A2A-Version': version },
        body: JSON.stringify(body),
      });
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
      expect(JSON.parse(response.text)).toMatchObject(expected);
      expect(response.text).toContain('nothing was stored');
      expect(await server.database.rowCounts()).toEqual(before);
    },
  );

  it('does not affect other tenants', async () => {
    const token = await server.database.createKey({ tenant: 'umbrella', subject: 'alice' });
    const task = await new V1Caller(server.url, token).start('theirs');
    expect(task.status.state).toBe('TASK_STATE_SUBMITTED');
  });

  it('still gets the task of a message that was accepted before', async () => {
    const repeated = await server.caller.start('one', first);
    expect(repeated.status.state).toBe('TASK_STATE_SUBMITTED');
  });

  it('can send again when its queue is processed, and has one run at a time', async () => {
    const worker = await startWorker(server.databaseUrl, { ACTA_TENANT_MAX_RUNNING: '1' });
    const { id } = await server.caller.send('one', { message: first });
    expect((await server.database.eventTypes(id)).at(-1)).toBe('TaskCompleted');
    // The queue has room for both only after its second task has ended, too.
    await server.caller.send('two', { message: second });
    const later = await Promise.all([server.caller.send('sleep 50ms'), server.caller.send('sleep 50ms')]);
    const runs = [...(await server.database.streams())]
      .filter(([taskId]) => later.some((task) => task.id === taskId))
      .map(([, events]) => [events.find(({ type }) => type === 'RunStarted')!, events.at(-1)!])
      .map(([from, to]) => [from!.recorded_at.getTime(), to!.recorded_at.getTime()] as const)
      .toSorted(([a], [b]) => a - b);
    expect(runs[1]![0]).toBeGreaterThanOrEqual(runs[0]![1]);
    await worker.stop();
  });
});
