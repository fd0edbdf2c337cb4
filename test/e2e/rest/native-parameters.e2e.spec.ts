import { setTimeout } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { http, V1Caller } from '../../support/clients/rpc.js';
import { useServer } from '../../support/processes/spec-server.js';
import { COUNTER } from '../agents/modules/agent-modules.js';
import { registeredOperations } from '../access/registered-operations.js';

const server = useServer({ ACTA_AGENTS: `demo,${COUNTER}` });
const tokens: Record<string, string> = {};
/** The ids of the tasks in the order of their creation, which is the order of their status. */
let tasks: string[];
let times: string[];

beforeAll(async () => {
  const tenant = 'acme';
  tokens['alice'] = await server.database.createKey({ tenant, subject: 'alice', rings: ['ring:dev', 'ring:ops'] });
  tokens['bob'] = await server.database.createKey({ tenant, subject: 'bob', rings: ['ring:dev'] });
  tokens['admin'] = await server.database.createKey({ tenant, subject: 'root', role: 'admin' });
  const callerOf = (subject: string, agent = 'demo') => new V1Caller(`${server.url}/agents/${agent}`, tokens[subject]!);
  const sends = [
    () => callerOf('alice').send('first'),
    () => callerOf('bob').send('second'),
    () => callerOf('alice', 'counter').send('count 1'),
    () => callerOf('alice').send('fourth', { message: { metadata: { ring: 'ring:ops' } } }),
  ];
  tasks = [];
  times = [];
  for (const send of sends) {
    const { id, status } = await send();
    tasks.push(id);
    times.push(status.timestamp);
    // Each status has a time of its own.
    while (Date.now() <= Date.parse(status.timestamp)) await setTimeout(1);
  }
});

async function request(path: string, { subject = 'admin', verb = 'GET' } = {}) {
  const { status, text } = await http(verb, server.url + path, tokens[subject]!);
  return { status, body: JSON.parse(text) };
}

async function listed(query: string, subject?: string): Promise<string[]> {
  const { status, body } = await request(`/api/tasks?${query}`, { subject });
  expect([status, body.totalSize]).toEqual([200, body.tasks.length]);
  return body.tasks.map(({ id }: { id: string }) => id);
}

describe('GET /api/tasks', () => {
  it.each<[string, string, number[]]>([
    ['of an owner', 'owner=alice', [3, 2, 0]],
    ['of another owner', 'owner=bob', [1]],
    ['of a missing owner', 'owner=nobody', []],
    ['of an agent', 'agent=counter', [2]],
    ['of a ring', 'ring=ring:ops', [3]],
    ['of an owner, an agent and a ring', 'owner=alice&agent=demo&ring=ring:dev', [0]],
    ['of an owner with a status', 'owner=alice&status=working', []],
  ])('lists only the tasks %s', async (_name, query, expected) => {
    expect(await listed(query)).toEqual(expected.map((index) => tasks[index]));
  });

  it('lists only the tasks since a time, which is included, until a time, which is excluded', async () => {
    expect(await listed(`since=${times[1]}`)).toEqual([tasks[3], tasks[2], tasks[1]]);
    expect(await listed(`until=${times[2]}`)).toEqual([tasks[1], tasks[0]]);
    expect(await listed(`since=${times[1]}&until=${times[3]}`)).toEqual([tasks[2], tasks[1]]);
    expect(await listed(`since=${times[1]!.toLowerCase()}&until=9999-12-31T23:59:60Z`)).toEqual([
      tasks[3],
      tasks[2],
      tasks[1],
    ]);
  });

  it('never lists tasks that the caller cannot access', async () => {
    expect(await listed('owner=alice', 'bob')).toEqual([]);
    expect(await listed('ring=ring:ops', 'bob')).toEqual([]);
    expect(await listed('agent=demo', 'bob')).toEqual([tasks[1]]);
  });

  it('has page tokens that are valid for the same filters only', async () => {
    const { body } = await request('/api/tasks?owner=alice&pageSize=1');
    const next = (query: string) => request(`/api/tasks?${query}&pageSize=2&pageToken=${body.nextPageToken}`);
    expect(await next('owner=alice')).toMatchObject({
      status: 200,
      body: { tasks: [{ id: tasks[2] }, { id: tasks[0] }] },
    });
    const others = ['owner=bob', 'owner=alice&agent=demo', 'ring=alice', 'owner=alice&until=2030-01-01T00:00:00Z'];
    for (const query of others) {
      expect(await next(query)).toMatchObject({
        status: 400,
        body: { details: { violations: [{ field: 'pageToken' }] } },
      });
    }
  });

  it('records the filters of an admin', async () => {
    await listed('owner=bob&agent=demo&ring=ring:dev');
    const { body } = await request(`/api/audit/log?taskId=${tasks[1]}&limit=1`);
    expect(body.entries[0].facts.filter).toEqual({ owner: 'bob', agent: 'demo', ring: 'ring:dev' });
  });
});

describe('A parameter that a request of the native REST does not have', () => {
  const operations = registeredOperations().filter((operation) => / \/api\/[^*]/.test(operation));

  it.each(operations)('is rejected by %s with its name', async (operation) => {
    const [verb = '', path = ''] = operation.split(' ');
    const token = await server.database.createKey({ tenant: 'acme', subject: 'w', role: 'worker', agents: ['demo'] });
    const isForWorkers = path.startsWith('/api/workers') || path.startsWith('/api/runs');
    const url = `${server.url}${path.replace('{}', tasks[0]!).replace('{}', 'text')}?nope=1`;
    const { status, text } = await http(verb, url, isForWorkers ? token : tokens['admin']!);
    expect([status, JSON.parse(text)]).toMatchObject([
      400,
      { kind: 'InvalidParameters', details: { violations: [{ field: 'nope' }] } },
    ]);
  });

  it.each<[string, string, string]>([
    ['version', '/api/tasks/{id}?version=1', 'version: is not a parameter of this path; omit it'],
    ['at', '/api/tasks/{id}?at=garbage', 'at: is not a parameter of this path; omit it'],
    ['limit', '/api/tasks?limit=5', 'limit: is not a parameter of this path; the parameters are contextId,'],
    ['page_size', '/api/tasks?page_size=5', 'page_size: is not a parameter of this path'],
    ['Owner', '/api/tasks?Owner=bob', 'Owner: is not a parameter of this path'],
    ['pageSize', '/api/tasks/{id}/events?pageSize=5', 'the parameters are after, limit'],
    ['__proto__', '/api/tasks?__proto__=1', '__proto__: is not a parameter of this path'],
    ['an encoded name', '/api/tasks?a%0Ab=1', 'a\\nb: is not a parameter of this path'],
    ['no name', '/api/tasks?=1', 'is not a parameter of this path'],
    ['a name without a value', '/api/tasks/{id}?verbose', 'verbose: is not a parameter of this path'],
  ])('is named: %s', async (_name, path, message) => {
    const { status, body } = await request(path.replace('{id}', tasks[0]!));
    expect([status, body.error]).toEqual([400, expect.stringContaining(message)]);
  });

  it.each([
    ['empty', 'owner=', 'owner: must not be empty'],
    ['repeated', 'owner=alice&owner=bob', 'owner: must be a string, not an array'],
    ['of another type', 'pageSize=ten', 'pageSize: must be an integer'],
    ['no timestamp', 'since=yesterday', 'since: must be an RFC 3339 timestamp'],
    ['no day', 'until=2025-02-30T00:00:00Z', 'until: must be an RFC 3339 timestamp'],
    ['no status', 'status=done', 'status: must be one of'],
  ])('is as invalid as a value that is %s', async (_name, query, message) => {
    const { status, body } = await request(`/api/tasks?${query}`);
    expect([status, body.error]).toEqual([400, expect.stringContaining(message)]);
  });

  it('is named together with other ones, without an unbounded response', async () => {
    const { body } = await request(`/api/tasks?${Array.from({ length: 100 }, (_, n) => `p${n}=1`).join('&')}`);
    expect(body.details.violations).toHaveLength(20);
    const long = await request(`/api/tasks?${'x'.repeat(8_000)}=1`);
    expect([long.status, JSON.stringify(long.body).length]).toEqual([400, expect.any(Number)]);
    expect(JSON.stringify(long.body).length).toBeLessThan(1_000);
  });

  it.each([
    ['GET', '/api/nope?nope=1', 404],
    ['POST', '/api/tasks?nope=1', 405],
    ['PUT', '/api/tasks/x/events?nope=1', 405],
  ])('does not hide that %s %s is no operation', async (verb, path, status) => {
    expect((await request(path, { verb })).status).toBe(status);
  });

  it('is not named to a caller without a credential', async () => {
    expect((await http('GET', `${server.url}/api/tasks?nope=1`, 'wrong')).status).toBe(401);
  });
});

describe('GET /api/tasks/{id}/deliveries/{artifactId}/parts', () => {
  it('has no parts of an artifact that the task does not have', async () => {
    for (const artifactId of ['nope', 'TEXT', 'text2', '%20']) {
      expect(await request(`/api/tasks/${tasks[0]}/deliveries/${artifactId}/parts`)).toMatchObject({
        status: 400,
        body: { error: expect.stringContaining('artifactId: the task has no artifact "') },
      });
    }
    const after = await request(`/api/tasks/${tasks[0]}/deliveries/text/parts?after=2147483647`);
    expect(after).toMatchObject({ status: 200, body: { parts: [], nextAfter: null } });
  });
});
