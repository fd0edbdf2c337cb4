import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '@app/domain';
import { http, sendParams, V1Caller } from '../../support/clients/rpc.js';
import { useServer } from '../../support/processes/spec-server.js';
import { TOKEN } from '../../support/processes/start-server.js';
import { COUNTER } from '../agents/modules/agent-modules.js';
import { NativeApi } from './native-api.js';

const server = useServer({ ACTA_AGENTS: `demo,${COUNTER}` });
let admin: NativeApi;
beforeAll(() => {
  admin = new NativeApi(server.url, TOKEN);
});

const callerOf = (agent: string) => new V1Caller(`${server.url}/agents/${agent}`, TOKEN);

describe('The history of a task', () => {
  let id: string;
  beforeAll(async () => {
    ({ id } = await callerOf('counter').send('count 12 ask'));
    await callerOf('counter').send('count 3', { message: { taskId: id } });
  });

  it.each(['events', 'messages', 'deliveries', 'runs'])(
    'has the same %s in order in one page and in several pages',
    async (name) => {
      const all = await admin.list<{ version: number }>(`${id}/${name}`, name);
      const versions = all.map(({ version }) => version);
      expect(versions).toEqual(versions.toSorted((a, b) => a - b));
      expect(new Set(versions).size).toBe(versions.length);
      expect(all.length).toBeGreaterThan(0);
      for (const limit of [1, 2, 7, all.length]) {
        expect(await admin.listInPages(`${id}/${name}`, name, limit)).toEqual(all);
      }
      const last = versions.at(-1)!;
      expect(await admin.request(`${id}/${name}?after=${last}`)).toMatchObject({
        status: 200,
        body: { [name]: [], nextAfter: null },
      });
    },
  );

  it('has every event as it is stored, with its actor and content, in a hash chain', async () => {
    interface Event {
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
    }
    const events = await admin.list<Event>(`${id}/events`, 'events');
    const stored = (await server.database.streams()).get(id)!;
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
      stored.map((event) => ({
        type: event.type,
        version: event.version,
        eventId: event.event_id,
        hash: event.hash.toString('hex'),
        facts: JSON.parse(event.facts),
        position: event.position,
      })),
    );
    events.forEach((event, index) => {
      expect(event.previousHash).toBe(index === 0 ? '0'.repeat(64) : events[index - 1]!.hash);
    });
    expect(events[0]).toMatchObject({ type: 'TaskSubmitted', actor: { subject: 'admin', role: 'admin' } });
    expect(events[1]).toMatchObject({
      content: { message: { parts: [{ text: 'count 12 ask' }] } },
      protocolVersion: '1.0',
    });
    expect(events.find(({ type }) => type === 'InputRequested')).toMatchObject({
      actor: { subject: 'counter', role: 'agent' },
      content: { message: { parts: [{ text: 'Continue?' }] } },
    });
  });

  it('has every message of the user and of the agent', async () => {
    interface Item {
      message: { role: string; parts: { text: string }[] };
    }
    const messages = await admin.list<Item>(`${id}/messages`, 'messages');
    expect(messages.map(({ message }) => `${message.role}: ${message.parts[0]!.text.trim()}`)).toEqual([
      'user: count 12 ask',
      ...Array.from({ length: 12 }, (_, n) => `agent: ${n + 1}`),
      'agent: Continue?',
      'user: count 3',
      ...[1, 2, 3].map((n) => `agent: ${n}`),
    ]);
  });

  it('has every run with the event that ended it', async () => {
    expect(await admin.list(`${id}/runs`, 'runs')).toMatchObject([
      { attempt: 1, leaseGeneration: 1, dispatcherGeneration: 1, ending: 'InputRequested' },
      { attempt: 1, leaseGeneration: 2, dispatcherGeneration: 2, ending: 'TaskCompleted' },
    ]);
  });

  it('has every published artifact with all of its parts', async () => {
    const streamed = await callerOf('demo').send('abcdefghij chunks 10');
    const [artifact] = await admin.list<{ artifactId: string; chunks: number; parts: number }>(
      `${streamed.id}/deliveries`,
      'deliveries',
    );
    expect(artifact).toMatchObject({ artifactId: 'text', current: true, runId: expect.any(String) });
    const path = `${streamed.id}/deliveries/text/parts`;
    const parts = await admin.listInPages<{ version: number; part: { text: string } }>(path, 'parts', 100);
    expect(parts).toHaveLength(artifact!.parts);
    expect(parts.map(({ part }) => part.text).join('')).toBe('ABCDEFGHIJ CHUNKS 10');
    expect(await admin.request(`${streamed.id}/deliveries/none/parts`)).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining('the task has no artifact "none"') },
    });
  });

  it.each(['events', 'messages', 'deliveries', 'deliveries/artifact/parts', 'runs', 'pushes'])(
    'is not returned if limit or after is invalid for its %s, and the error names the parameter',
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
        const { status, body } = await admin.request(`${id}/${path}?${query}`);
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
    ['a different owner', { subject: 'mallory' }],
    ['a different tenant', { subject: 'admin', tenant: 'umbrella' }],
    ['an admin of a different tenant', { subject: 'admin', tenant: 'umbrella', role: 'admin' as const }],
    ['a worker', { subject: 'admin', role: 'worker' as const, agents: ['counter'] }],
  ])('is indistinguishable from the history of a missing task for %s', async (_who, key) => {
    const stranger = new NativeApi(server.url, await server.database.createKey(key));
    const missing = randomUUID();
    for (const [verb, path] of [
      ['GET', ''],
      ['GET', '/events'],
      ['GET', '/messages'],
      ['GET', '/deliveries'],
      ['GET', '/deliveries/artifact/parts'],
      ['GET', '/runs'],
      ['GET', '/pushes'],
      ['POST', ':resume'],
    ] as const) {
      const [ofTask, ofMissing] = await Promise.all([
        stranger.request(`${id}${path}`, verb),
        stranger.request(`${missing}${path}`, verb),
      ]);
      expect(ofTask.status).toBe(404);
      expect(JSON.stringify(ofTask).replaceAll(id, '<id>')).toBe(JSON.stringify(ofMissing).replaceAll(missing, '<id>'));
    }
  });
});

describe('A direct message response', () => {
  it('has a history that its caller can read', async () => {
    const token = await server.database.createKey({ subject: 'alice' });
    await new V1Caller(server.url, token).call('SendMessage', sendParams('reply'));
    const alice = new NativeApi(server.url, token);
    const replied = [...(await server.database.streams())].find(
      ([, events]) => events.at(-1)!.type === 'ReplySent',
    )![0];
    expect(await alice.request(replied)).toMatchObject({ status: 200, body: { status: 'replied' } });
    expect(await alice.list(`${replied}/messages`, 'messages')).toMatchObject([
      {},
      { message: { parts: [{ text: 'REPLY' }] } },
    ]);
  });

  it('is listed by the native REST API and not by ListTasks', async () => {
    const token = await server.database.createKey({ subject: 'bob' });
    const bob = new V1Caller(server.url, token);
    const sent = await bob.call('SendMessage', sendParams('please reply'));
    const { message } = sent.body.result as { message: { contextId: string } };
    const { text } = await http('GET', `${server.url}/api/tasks?status=replied`, token);
    const { contextId } = message;
    expect(JSON.parse(text)).toMatchObject({ totalSize: 1, tasks: [{ contextId, status: 'replied' }] });
    expect((await bob.list({ contextId })).totalSize).toBe(0);
  });
});
