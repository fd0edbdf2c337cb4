import { fileURLToPath } from 'node:url';
import { randomUUID } from 'node:crypto';
import type { JsonObject } from '@app/domain';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DatabaseView } from '../../support/database/database-view.js';
import { eventually, http, V1Caller } from '../../support/clients/rpc.js';
import { type RunningServer, startServer, TOKEN } from '../../support/processes/start-server.js';
import { createTestDatabase, type TestDatabase } from '../../support/database/test-database.js';

const PAIR = fileURLToPath(new URL('../agents/modules/pair.mjs', import.meta.url));
const COUNTER = fileURLToPath(new URL('../agents/modules/counter.mjs', import.meta.url));
const env = { ACTA_AGENTS: `demo,${PAIR},${COUNTER}` };
let shared: TestDatabase;
let database: DatabaseView;
let server: RunningServer;
/** Runs nothing. */
let other: RunningServer;
const callerOf = (agent: string) => new V1Caller(`${server.url}/agents/${agent}`, TOKEN);

beforeAll(async () => {
  shared = await createTestDatabase();
  database = new DatabaseView(shared.url);
  [server, other] = await Promise.all([
    startServer({ databaseUrl: shared.url, env }),
    startServer({ databaseUrl: shared.url, env: { ...env, ACTA_WORKER_CONCURRENCY: '0' } }),
  ]);
}, 120_000);
afterAll(async () => {
  await database?.close();
  await Promise.all([server?.stop(), other?.stop()]);
  await shared?.drop();
});

async function api(path: string, token = TOKEN, verb = 'GET', url = server.url) {
  const { status, text } = await http(verb, `${url}/api/tasks/${path}`, token);
  return { status, body: JSON.parse(text) as JsonObject };
}
const get = async <T = JsonObject>(path: string, name: string) => (await api(path)).body[name] as unknown as T[];
/** Every item of a list, in pages of this size. */
async function pages<T extends { version: number }>(path: string, name: string, limit: number): Promise<T[]> {
  const all: T[] = [];
  for (let after: number | null = 0; after !== null;) {
    const { body } = await api(`${path}?after=${after}&limit=${limit}`);
    const items = body[name] as unknown as T[];
    expect(items.length).toBeLessThanOrEqual(limit);
    all.push(...items);
    after = body['nextAfter'] as number | null;
  }
  return all;
}

describe('the history of a task', () => {
  let id: string;
  beforeAll(async () => {
    ({ id } = await callerOf('counter').send('count 12 ask'));
    await callerOf('counter').send('count 3', { message: { taskId: id } });
  });

  it.each(['events', 'messages', 'deliveries', 'runs'])(
    'has its %s in order, page by page and all at once',
    async (name) => {
      const all = await get<{ version: number }>(`${id}/${name}`, name);
      const versions = all.map(({ version }) => version);
      expect(versions).toEqual(versions.toSorted((a, b) => a - b));
      expect(new Set(versions).size).toBe(versions.length);
      expect(all.length).toBeGreaterThan(0);
      for (const limit of [1, 2, 7, all.length]) expect(await pages(`${id}/${name}`, name, limit)).toEqual(all);
      const last = versions.at(-1)!;
      expect(await api(`${id}/${name}?after=${last}`)).toMatchObject({
        status: 200,
        body: { [name]: [], nextAfter: null },
      });
    },
  );

  it('has every event as it is stored, with what was said and who said it, in a chain', async () => {
    const events = await get<{
      version: number;
      type: string;
      actor: JsonObject;
      facts: JsonObject;
      content?: JsonObject;
      eventId: string;
      hash: string;
      previousHash: string;
      position: string;
      recordedAt: string;
    }>(`${id}/events`, 'events');
    const stored = (await database.streams()).get(id)!;
    expect(
      events.map(({ type, version, eventId, hash, facts, position }) => ({
        type,
        version,
        eventId,
        hash,
        facts,
        position,
      })),
    ).toEqual(
      stored.map((e) => ({
        type: e.type,
        version: e.version,
        eventId: e.event_id,
        hash: e.hash.toString('hex'),
        facts: JSON.parse(e.facts),
        position: e.position,
      })),
    );
    events.forEach((event, at) => {
      expect(event.previousHash).toBe(at === 0 ? '0'.repeat(64) : events[at - 1]!.hash);
    });
    expect(events[0]).toMatchObject({ type: 'TaskSubmitted', actor: { subject: 'admin', role: 'admin' } });
    expect(events[1]).toMatchObject({
      content: { message: { parts: [{ text: 'count 12 ask' }] } },
      protocolVersion: '1.0',
    });
    const ask = events.find(({ type }) => type === 'InputRequested')!;
    expect(ask).toMatchObject({
      actor: { subject: 'counter', role: 'agent' },
      content: { message: { parts: [{ text: 'On?' }] } },
    });
  });

  it('has every message, of both sides', async () => {
    const said = await get<{ message: { role: string; parts: { text: string }[] } }>(`${id}/messages`, 'messages');
    expect(said.map(({ message }) => `${message.role}: ${message.parts[0]!.text.trim()}`)).toEqual([
      'user: count 12 ask',
      ...Array.from({ length: 12 }, (_, n) => `agent: ${n + 1}`),
      'agent: On?',
      'user: count 3',
      ...[1, 2, 3].map((n) => `agent: ${n}`),
    ]);
  });

  it('has its runs, with their ends', async () => {
    expect(await get(`${id}/runs`, 'runs')).toMatchObject([
      { attempt: 1, leaseGeneration: 1, dispatcherGeneration: 1, ending: 'InputRequested' },
      { attempt: 1, leaseGeneration: 2, dispatcherGeneration: 2, ending: 'TaskCompleted' },
    ]);
  });

  it('has its deliveries, and all of their parts', async () => {
    const streamed = await callerOf('demo').send('abcdefghij chunks 10');
    const [delivery] = await get<{ artifactId: string; chunks: number; parts: number }>(
      `${streamed.id}/deliveries`,
      'deliveries',
    );
    expect(delivery).toMatchObject({ artifactId: 'text', current: true, runId: expect.any(String) });
    const path = `${streamed.id}/deliveries/text/parts`;
    const parts = await pages<{ version: number; part: { text: string } }>(path, 'parts', 100);
    expect(parts).toHaveLength(delivery!.parts);
    expect(parts.map(({ part }) => part.text).join('')).toBe('ABCDEFGHIJ CHUNKS 10');
    expect(await api(`${streamed.id}/deliveries/none/parts`)).toMatchObject({
      status: 200,
      body: { parts: [], nextAfter: null },
    });
  });

  it.each(['events', 'messages', 'deliveries', 'deliveries/artifact/parts', 'runs', 'pushes'])(
    'refuses wrong pages of %s, and names what is wrong',
    async (path) => {
      for (const [query, field] of [
        ['limit=0', 'limit'],
        ['limit=1001', 'limit'],
        ['limit=ten', 'limit'],
        ['limit=1.5', 'limit'],
        ['limit=1&limit=2', 'limit'],
        ['after=-1', 'after'],
        ['after=x', 'after'],
        ['after=99999999999', 'after'],
      ]) {
        const { status, body } = await api(`${id}/${path}?${query}`);
        expect([query, status, body]).toMatchObject([
          query,
          400,
          { kind: 'InvalidParameters', details: { violations: [{ field }] } },
        ]);
      }
    },
  );

  // F31
  it.each([
    ['another owner', { subject: 'mallory' }],
    ['another tenant', { subject: 'admin', tenant: 'umbrella' }],
    ['an admin of another tenant', { subject: 'admin', tenant: 'umbrella', role: 'admin' as const }],
    ['a worker', { subject: 'admin', role: 'worker' as const, agents: ['counter'] }],
  ])('is to %s as if it never was', async (_who, key) => {
    const token = await database.createKey(key);
    const missing = randomUUID();
    for (const path of ['', '/events', '/messages', '/deliveries', '/deliveries/artifact/parts', '/runs', '/pushes']) {
      const [theirs, nobodys] = await Promise.all([api(`${id}${path}`, token), api(`${missing}${path}`, token)]);
      expect(theirs.status).toBe(404);
      expect(JSON.stringify(theirs).replaceAll(id, '<id>')).toBe(JSON.stringify(nobodys).replaceAll(missing, '<id>'));
    }
    const [theirs, nobodys] = await Promise.all([
      api(`${id}:resume`, token, 'POST'),
      api(`${missing}:resume`, token, 'POST'),
    ]);
    expect(theirs.status).toBe(404);
    expect(JSON.stringify(theirs).replaceAll(id, '<id>')).toBe(JSON.stringify(nobodys).replaceAll(missing, '<id>'));
  });

  it('of a bare reply is there too, for whoever asked', async () => {
    const token = await database.createKey({ subject: 'alice' });
    const messageId = randomUUID();
    await new V1Caller(server.url, token).call('SendMessage', {
      message: { messageId, role: 'ROLE_USER', parts: [{ text: 'reply' }] },
    });
    const replied = [...(await database.streams())].find(([, events]) => events.at(-1)!.type === 'ReplySent')![0];
    expect(await api(replied, token)).toMatchObject({ status: 200, body: { status: 'replied' } });
    expect((await api(`${replied}/messages`, token)).body['messages']).toMatchObject([
      {},
      { message: { parts: [{ text: 'REPLY' }] } },
    ]);
  });
});

describe('the retry policy of an agent', () => {
  type Event = {
    type: string;
    recordedAt: string;
    facts: { reason?: string; notBefore?: string; attempt?: number; counted?: boolean };
  };

  it('stands in the events: why each run was lost, and when it is tried again', async () => {
    const { id } = await callerOf('flaky').send('twice');
    const events = await get<Event>(`${id}/events`, 'events');
    const lost = events.filter(({ type }) => type === 'RunLost');
    const retried = events.filter(({ type }) => type === 'RunRetried');
    expect(lost.map(({ facts }) => facts.reason)).toEqual(['retryable-error', 'retryable-error']);
    expect(retried.map(({ facts }) => [facts.attempt, facts.counted])).toEqual([
      [1, true],
      [2, true],
    ]);
    retried.forEach(({ recordedAt, facts }, at) => {
      // Half of the wait is jitter; each is twice the one before.
      const wait = Date.parse(facts.notBefore!) - Date.parse(recordedAt);
      expect(wait).toBeLessThanOrEqual(40 * 2 ** at + 1);
      const started = events.filter(({ type }) => type === 'RunStarted')[at + 1]!;
      expect(started.recordedAt >= facts.notBefore!).toBe(true);
    });
    expect(events.at(-1)).toMatchObject({ type: 'TaskCompleted' });
    expect(await get(`${id}/runs`, 'runs')).toMatchObject([
      { attempt: 1, ending: 'RunLost' },
      { attempt: 2, ending: 'RunLost' },
      { attempt: 3, ending: 'TaskCompleted' },
    ]);
  });

  it('ends, and fails the task with the reason', async () => {
    const task = await callerOf('flaky').send('always');
    expect(task.status).toMatchObject({ state: 'TASK_STATE_FAILED' });
    const events = await get<Event>(`${task.id}/events`, 'events');
    expect(events.filter(({ type }) => type === 'RunLost')).toHaveLength(3);
    expect(events.at(-1)).toMatchObject({ type: 'TaskFailed', facts: { reason: 'attempts-exhausted' } });
  });

  it('does not retry what the agent does not call retryable', async () => {
    const { id } = await callerOf('flaky').send('never');
    const types = (await get<Event>(`${id}/events`, 'events')).map(({ type }) => type);
    expect(types).toEqual(['TaskSubmitted', 'MessageAccepted', 'RunStarted', 'TaskFailed']);
  });
});

describe('POST /api/tasks/{id}:resume', () => {
  const resume = (id: string, url = server.url) => api(`${id}:resume`, TOKEN, 'POST', url);
  const waiting = async () => {
    const task = await callerOf('bank').send('pay');
    expect(task.status).toMatchObject({ state: 'TASK_STATE_AUTH_REQUIRED' });
    return task.id;
  };
  const done = (id: string, caller = callerOf('bank')) =>
    eventually(
      () => caller.get(id),
      ({ status }) => status.state === 'TASK_STATE_COMPLETED',
    );
  const SAID = 'agent: Sign in at the bank.\nuser: pay';

  it('goes on with all that was said, through another replica, as often as it is asked', async () => {
    const id = await waiting();
    const answers = await Promise.all([resume(id, other.url), resume(id)]);
    expect(answers[0]).toMatchObject({ status: 200, body: { id } });
    expect((await done(id)).artifacts?.[0]?.parts).toEqual([{ text: SAID }]);
    expect((await database.eventTypes(id)).filter((type) => type === 'TaskResumed')).toHaveLength(1);
  });

  it('goes on after a restart', async () => {
    const id = await waiting();
    await server.stop();
    server = await startServer({ databaseUrl: shared.url, env });
    expect((await resume(id)).status).toBe(200);
    expect((await done(id)).artifacts?.[0]?.parts).toEqual([{ text: SAID }]);
  });

  it('is refused with 400 where input is wanted, and with 409 after the end', async () => {
    const asked = await callerOf('demo').send('ask');
    expect(await resume(asked.id)).toMatchObject({ status: 400, body: { kind: 'InvalidParameters' } });
    const ended = await callerOf('demo').send('hello');
    expect(await resume(ended.id)).toMatchObject({ status: 409, body: { kind: 'TaskEnded' } });
    expect(await resume(randomUUID())).toMatchObject({ status: 404, body: { error: 'task not found' } });
  });
});
