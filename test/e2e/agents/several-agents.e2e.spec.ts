import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, http, sendParams, V1Caller, type WireTask } from '../../support/clients/rpc.js';
import { SseReader } from '../../support/clients/sse-reader.js';
import { type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';
import { ASKED_OF_A_TASK, masked } from '../access/task-operations.js';

const PAIR = fileURLToPath(new URL('modules/pair.mjs', import.meta.url));
let server: RunningServer;
const at = (agent: string | null) => (agent === null ? server.url : `${server.url}/agents/${agent}`);
const callerOf = (agent: string | null) => new V1Caller(at(agent), TOKEN);

beforeAll(async () => {
  server = await startServer({ env: { ACTA_AGENTS: `demo,${PAIR}` } });
}, 90_000);
afterAll(() => server?.stop());

const SAYS = { demo: 'HELLO', plain: 'plain: hello' };

describe.each(['demo', 'plain'] as const)('/agents/%s/…', (agent) => {
  const answer = SAYS[agent];

  it('has a card of its own in both versions, public and cacheable, with its own addresses', async () => {
    const etags = new Set<string>();
    for (const version of ['1.0', '0.3']) {
      const headers = { 'A2A-Version': version };
      const card = await http('GET', `${at(agent)}/.well-known/agent-card.json`, null, { headers });
      expect(card.status).toBe(200);
      expect(card.headers.get('vary')).toBe('A2A-Version');
      const body = JSON.parse(card.text) as { name: string; url?: string; supportedInterfaces?: { url: string }[] };
      expect(body.name).toBe(agent);
      const urls = body.supportedInterfaces?.map(({ url }) => url) ?? [body.url];
      expect(new Set(urls)).toEqual(
        new Set(version === '1.0' ? [`${at(agent)}/a2a`, `${at(agent)}/a2a/v1`] : [`${at(agent)}/a2a`]),
      );
      const etag = card.headers.get('etag')!;
      etags.add(etag);
      const again = await http('GET', `${at(agent)}/.well-known/agent-card.json`, null, {
        headers: { ...headers, 'If-None-Match': etag },
      });
      expect(again.status).toBe(304);
      const root = await http('GET', `${server.url}/.well-known/agent-card.json`, null, { headers });
      etags.add(root.headers.get('etag')!);
    }
    expect(etags.size).toBe(4);
  });

  it('answers JSON-RPC in both versions', async () => {
    expect((await callerOf(agent).send('hello')).artifacts?.[0]?.parts).toEqual([{ text: answer }]);
    const message = {
      messageId: crypto.randomUUID(),
      role: 'user',
      kind: 'message',
      parts: [{ kind: 'text', text: 'hello' }],
    };
    const { body } = await call(at(agent), TOKEN, '0.3', 'message/send', { message });
    expect((body.result as unknown as WireTask).artifacts?.[0]?.parts).toEqual([{ kind: 'text', text: answer }]);
    const card = await call(at(agent), TOKEN, '1.0', 'GetExtendedAgentCard', {});
    expect(card.body.result).toMatchObject({ name: agent });
  });

  it('answers HTTP+JSON', async () => {
    const headers = { 'A2A-Version': '1.0' };
    const body = JSON.stringify(sendParams('hello'));
    const sent = await http('POST', `${at(agent)}/a2a/v1/message:send`, TOKEN, { headers, body });
    const { task } = JSON.parse(sent.text) as { task: WireTask };
    expect(task.artifacts?.[0]?.parts).toEqual([{ text: answer }]);
    const got = await http('GET', `${at(agent)}/a2a/v1/tasks/${task.id}`, TOKEN, { headers });
    expect(JSON.parse(got.text)).toMatchObject({ id: task.id });
    const wrong = await http('POST', `${at(agent)}/a2a/v1/message:send`, TOKEN, { headers, body: '{}' });
    expect([wrong.status, JSON.parse(wrong.text)]).toMatchObject([400, { error: { status: 'INVALID_ARGUMENT' } }]);
  });

  it('answers the simple REST, and its streams', async () => {
    expect(JSON.parse((await http('GET', `${at(agent)}/a2a/agent`, TOKEN)).text)).toMatchObject({ name: agent });
    const body = JSON.stringify({ input: 'hello' });
    const made = await http('POST', `${at(agent)}/a2a/tasks`, TOKEN, { body });
    expect(made.status).toBe(201);
    const { id } = JSON.parse(made.text) as { id: string };
    const done = await new V1Caller(server.url, TOKEN).get(id);
    expect(done.id).toBe(id);
    const stream = await SseReader.open(
      `${at(agent)}/a2a`,
      TOKEN,
      { 'A2A-Version': '1.0' },
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'SendStreamingMessage',
        params: sendParams('hello'),
      },
    );
    expect((await stream.remaining()).map(({ data }) => data).join('\n')).toContain(answer);
  });

  it('lists its own tasks, and the root lists all', async () => {
    const mine = await callerOf(agent).list({ pageSize: 100 });
    const all = await callerOf(null).list({ pageSize: 100 });
    expect(mine.totalSize).toBeGreaterThan(0);
    expect(all.tasks.map(({ id }) => id)).toEqual(expect.arrayContaining(mine.tasks.map(({ id }) => id)));
    const others = await callerOf(agent === 'demo' ? 'plain' : 'demo').list({ pageSize: 100 });
    expect(mine.tasks.filter(({ id }) => others.tasks.some((task) => task.id === id))).toEqual([]);
    const first = await callerOf(agent).list({ pageSize: 1 });
    const elsewhere = await callerOf(null).call('ListTasks', { pageSize: 1, pageToken: first.nextPageToken });
    if (first.nextPageToken !== '') expect(elsewhere.body.error?.code).toBe(-32602);
  });
});

it('an agent that is not there is found on no surface, with or without a credential', async () => {
  for (const path of [
    'nobody/.well-known/agent-card.json',
    'nobody/a2a/agent',
    'nobody/a2a/v1/tasks',
    'demo/api/tasks',
    'demo/health',
    'demo',
    '%64emo/a2a/agent',
  ]) {
    expect([path, (await http('GET', `${server.url}/agents/${path}`, TOKEN)).status]).toEqual([path, 404]);
  }
  expect((await http('GET', `${at('nobody')}/.well-known/agent-card.json`, null)).status).toBe(404);
  expect(
    (await call(at('nobody'), TOKEN, '1.0', 'SendMessage', sendParams('hi')).catch(() => ({ status: 404 }))).status,
  ).toBe(404);
  expect((await http('POST', `${at('demo')}/a2a`, null, { body: '{}' })).status).toBe(401);
});

it('runs no more of an agent at a time than it takes, while others go on', async () => {
  const narrow = Array.from({ length: 8 }, () => callerOf('narrow').send('now'));
  expect((await callerOf('plain').send('hello')).artifacts?.[0]?.parts).toEqual([{ text: 'plain: hello' }]);
  for (const task of await Promise.all(narrow)) {
    expect(task.artifacts?.[0]?.parts).toEqual([{ text: 'at most 1' }]);
  }
});

it.each(['demo', 'plain'])('a message sent to %s and again at the root is one task', async (agent) => {
  const message = { messageId: crypto.randomUUID() };
  const { id } = await callerOf(agent).send('hello', { message });
  expect((await callerOf(null).send('hello', { message })).id).toBe(id);
  expect((await callerOf(agent).send('hello', { message })).id).toBe(id);
});

it('the same message to two agents is two tasks or a refusal, and never one agent’s answer for the other', async () => {
  const message = { messageId: crypto.randomUUID() };
  await callerOf('demo').send('hello', { message });
  const { body } = await callerOf('plain').call('SendMessage', sendParams('hello', { message }));
  expect(body.error?.code).toBe(-32602);
});

describe('a task of another agent', () => {
  let waiting: WireTask;
  let ended: WireTask;
  beforeAll(async () => {
    waiting = await callerOf('bank').send('pay');
    ended = await callerOf('plain').send('hello');
    for (const { id: taskId } of [waiting, ended]) {
      const config = { taskId, id: 'x', url: 'https://example.com/hook' };
      await callerOf(null).call('CreateTaskPushNotificationConfig', config);
    }
  });
  afterAll(() => callerOf(null).cancel(waiting.id));

  it.each(ASKED_OF_A_TASK)(
    '%s is told at the door of an agent as of one that never existed, and told at its own and at the root',
    async (_name, ask) => {
      const missing = randomUUID();
      const at = (url: string, id: string, contextId: string) => masked(ask({ url, token: TOKEN }, id, contextId), id);
      for (const { id, contextId } of [waiting, ended]) {
        expect(await at(`${server.url}/agents/demo`, id, contextId)).toEqual(
          await at(`${server.url}/agents/demo`, missing, contextId),
        );
      }
      const { id, contextId } = ended;
      for (const url of [`${server.url}/agents/plain`, server.url]) {
        expect((await at(url, id, contextId)).text).not.toBe((await at(url, missing, contextId)).text);
      }
    },
  );

  it('is as it was', async () => {
    expect((await callerOf('bank').get(waiting.id)).status).toEqual(waiting.status);
    expect(await callerOf('plain').get(ended.id)).toEqual(ended);
  });
});
