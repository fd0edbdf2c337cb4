import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, http, sendParams, sendParamsV03, V1Caller, type WireTask } from '../../support/clients/rpc.js';
import { SseReader } from '../../support/clients/sse-reader.js';
import { useServer } from '../../support/processes/spec-server.js';
import { TOKEN } from '../../support/processes/start-server.js';
import { maskedResponse, SCOPED_TASK_OPERATIONS } from '../access/task-operations.js';
import { SEVERAL_AGENTS } from './modules/agent-modules.js';

const urlOf = (agent: string): string => `${server.url}/agents/${agent}`;
const callerOf = (agent: string): V1Caller => new V1Caller(urlOf(agent), TOKEN);

const server = useServer({ ACTA_AGENTS: `demo,${SEVERAL_AGENTS}` });

const OUTPUTS = { demo: 'HELLO', plain: 'plain: hello' };

describe.each(['demo', 'plain'] as const)('The path /agents/%s', (agent) => {
  const output = OUTPUTS[agent];

  it('has a public card in each version, and one of both, with its own URLs and ETags', async () => {
    const etags = new Set<string>();
    for (const version of ['1.0', '0.3', '']) {
      const headers = { 'A2A-Version': version };
      const card = await http('GET', `${urlOf(agent)}/.well-known/agent-card.json`, null, { headers });
      expect(card.status).toBe(200);
      expect(card.headers.get('vary')).toBe('A2A-Version');
      const body = JSON.parse(card.text) as { name: string; url?: string; supportedInterfaces?: { url: string }[] };
      expect(body.name).toBe(agent);
      const urls = body.supportedInterfaces?.map(({ url }) => url) ?? [body.url];
      expect(new Set(urls)).toEqual(
        new Set(
          version === '0.3'
            ? [`${urlOf(agent)}/a2a`]
            : ['', '/v1', '/http-json'].map((path) => `${urlOf(agent)}/a2a${path}`),
        ),
      );
      const etag = card.headers.get('etag')!;
      etags.add(etag);
      const cached = await http('GET', `${urlOf(agent)}/.well-known/agent-card.json`, null, {
        headers: { ...headers, 'If-None-Match': etag },
      });
      expect(cached.status).toBe(304);
      const root = await http('GET', `${server.url}/.well-known/agent-card.json`, null, { headers });
      etags.add(root.headers.get('etag')!);
    }
    expect(etags.size).toBe(6);
  });

  it('serves JSON-RPC in both versions', async () => {
    expect((await callerOf(agent).send('hello')).artifacts?.[0]?.parts).toEqual([{ text: output }]);
    const { body } = await call(urlOf(agent), TOKEN, '0.3', 'message/send', sendParamsV03('hello'));
    expect((body.result as unknown as WireTask).artifacts?.[0]?.parts).toEqual([{ kind: 'text', text: output }]);
    const card = await call(urlOf(agent), TOKEN, '1.0', 'GetExtendedAgentCard', {});
    expect(card.body.result).toMatchObject({ name: agent });
  });

  it('serves streams of JSON-RPC', async () => {
    const body = { jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: sendParams('hello') };
    const stream = await SseReader.open(`${urlOf(agent)}/a2a`, TOKEN, { 'A2A-Version': '1.0' }, body);
    expect((await stream.remaining()).map(({ data }) => data).join('\n')).toContain(output);
  });

  it('serves HTTP+JSON', async () => {
    const headers = { 'A2A-Version': '1.0' };
    const body = JSON.stringify(sendParams('hello'));
    const sent = await http('POST', `${urlOf(agent)}/a2a/v1/message:send`, TOKEN, { headers, body });
    const { task } = JSON.parse(sent.text) as { task: WireTask };
    expect(task.artifacts?.[0]?.parts).toEqual([{ text: output }]);
    const read = await http('GET', `${urlOf(agent)}/a2a/v1/tasks/${task.id}`, TOKEN, { headers });
    expect(JSON.parse(read.text)).toMatchObject({ id: task.id });
    const wrong = await http('POST', `${urlOf(agent)}/a2a/v1/message:send`, TOKEN, { headers, body: '{}' });
    expect([wrong.status, JSON.parse(wrong.text)]).toMatchObject([400, { error: { status: 'INVALID_ARGUMENT' } }]);
  });

  it('serves the simple REST API', async () => {
    expect(JSON.parse((await http('GET', `${urlOf(agent)}/a2a/agent`, TOKEN)).text)).toMatchObject({ name: agent });
    const body = JSON.stringify({ input: 'hello' });
    const created = await http('POST', `${urlOf(agent)}/a2a/tasks`, TOKEN, { body });
    expect(created.status).toBe(201);
    const { id } = JSON.parse(created.text) as { id: string };
    expect((await server.caller.get(id)).id).toBe(id);
  });

  it('lists only the tasks of its agent, and the root path lists the tasks of all agents', async () => {
    const own = await callerOf(agent).list({ pageSize: 100 });
    const all = await server.caller.list({ pageSize: 100 });
    expect(own.totalSize).toBeGreaterThan(0);
    expect(all.tasks.map(({ id }) => id)).toEqual(expect.arrayContaining(own.tasks.map(({ id }) => id)));
    const others = await callerOf(agent === 'demo' ? 'plain' : 'demo').list({ pageSize: 100 });
    expect(own.tasks.filter(({ id }) => others.tasks.some((task) => task.id === id))).toEqual([]);
    const first = await callerOf(agent).list({ pageSize: 1 });
    const ofRoot = await server.caller.call('ListTasks', { pageSize: 1, pageToken: first.nextPageToken });
    if (first.nextPageToken !== '') expect(ofRoot.body.error?.code).toBe(-32602);
  });

  it('returns the same task as the root path for the same message', async () => {
    const message = { messageId: randomUUID() };
    const { id } = await callerOf(agent).send('hello', { message });
    expect((await server.caller.send('hello', { message })).id).toBe(id);
    expect((await callerOf(agent).send('hello', { message })).id).toBe(id);
  });
});

describe('A server with several agents', () => {
  it('returns 404 for an unknown agent or path on every surface, with and without a credential', async () => {
    for (const path of [
      'unknown/.well-known/agent-card.json',
      'unknown/a2a/agent',
      'unknown/a2a/v1/tasks',
      'demo/api/tasks',
      'demo/health',
      'demo',
    ]) {
      expect([path, (await http('GET', `${server.url}/agents/${path}`, TOKEN)).status]).toEqual([path, 404]);
    }
    expect((await http('GET', `${server.url}/agents/%64emo/a2a/agent`, TOKEN)).status).toBe(200);
    expect((await http('GET', `${urlOf('unknown')}/.well-known/agent-card.json`, null)).status).toBe(404);
    expect(
      (await call(urlOf('unknown'), TOKEN, '1.0', 'SendMessage', sendParams('hi')).catch(() => ({ status: 404 })))
        .status,
    ).toBe(404);
    expect((await http('POST', `${urlOf('demo')}/a2a`, null, { body: '{}' })).status).toBe(401);
  });

  it('limits the concurrent runs of an agent to its concurrency, and does not delay other agents', async () => {
    const narrow = Array.from({ length: 8 }, () => callerOf('narrow').send('now'));
    expect((await callerOf('plain').send('hello')).artifacts?.[0]?.parts).toEqual([{ text: 'plain: hello' }]);
    for (const task of await Promise.all(narrow)) {
      expect(task.artifacts?.[0]?.parts).toEqual([{ text: 'at most 1' }]);
    }
  });

  it('rejects a message that a different agent has received before', async () => {
    const message = { messageId: randomUUID() };
    await callerOf('demo').send('hello', { message });
    const { body } = await callerOf('plain').call('SendMessage', sendParams('hello', { message }));
    expect(body.error?.code).toBe(-32602);
  });
});

describe('A task of a different agent', () => {
  let waiting: WireTask;
  let ended: WireTask;
  beforeAll(async () => {
    waiting = await callerOf('bank').send('pay');
    ended = await callerOf('plain').send('hello');
    for (const { id: taskId } of [waiting, ended]) {
      const config = { taskId, id: 'x', url: 'https://example.com/hook' };
      await server.caller.call('CreateTaskPushNotificationConfig', config);
    }
  });
  afterAll(() => server.caller.cancel(waiting.id));

  it.each(SCOPED_TASK_OPERATIONS)(
    'is indistinguishable from a missing task in %s, except at the path of its agent and at the root path',
    async (_name, operation) => {
      const missing = randomUUID();
      const responseAt = (url: string, id: string, contextId: string) =>
        maskedResponse(operation({ url, token: TOKEN }, id, contextId), id);
      for (const { id, contextId } of [waiting, ended]) {
        expect(await responseAt(urlOf('demo'), id, contextId)).toEqual(
          await responseAt(urlOf('demo'), missing, contextId),
        );
      }
      const { id, contextId } = ended;
      for (const url of [urlOf('plain'), server.url]) {
        expect((await responseAt(url, id, contextId)).text).not.toBe((await responseAt(url, missing, contextId)).text);
      }
    },
  );

  it('is not changed by these operations', async () => {
    expect((await callerOf('bank').get(waiting.id)).status).toEqual(waiting.status);
    expect(await callerOf('plain').get(ended.id)).toEqual(ended);
  });
});
