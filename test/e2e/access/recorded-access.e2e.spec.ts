import { beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, http, V1Caller } from '../../support/clients/rpc.js';
import { useServer } from '../../support/processes/spec-server.js';
import { registeredOperations } from './registered-operations.js';
import { COVERED_OPERATIONS, TASK_OPERATIONS } from './task-operations.js';

const server = useServer();
const member = { tenant: 'acme', subject: 'alice' };
let alice: V1Caller;
let admin: { readonly url: string; readonly token: string };

beforeAll(async () => {
  alice = new V1Caller(server.url, await server.database.createKey(member));
  const token = await server.database.createKey({ tenant: 'acme', subject: 'root', role: 'admin' });
  admin = { url: server.url, token };
});

/** Operations that access no task of a caller, or no single one. Each name is one of `registeredOperations`. */
const OTHER_OPERATIONS: Readonly<Record<string, string>> = {
  '1.0 ListTasks': 'a list; tested below',
  '1.0 GET tasks': 'a list; tested below',
  'GET /api/tasks': 'a list; tested below',
  '1.0 GetExtendedAgentCard': 'a card',
  '1.0 GET extendedAgentCard': 'a card',
  '0.3 agent/getAuthenticatedExtendedCard': 'a card',
  '0.3 GET card': 'a card',
  'POST /a2a/tasks': 'creates a task of the caller',
  'GET /a2a/agent': 'a card',
  'GET /api/audit/log': 'no task',
  'POST /api/workers/claim': 'a worker is not a user of tasks',
  'POST /api/runs/{}/heartbeat': 'a worker is not a user of tasks',
  'POST /api/runs/{}/publish': 'a worker is not a user of tasks',
  'POST /api/runs/{}/finish': 'a worker is not a user of tasks',
};
/** Prefixes of the routes that dispatch to the operations of a codec, or that access no task. */
const NO_OPERATIONS =
  /^(?:POST \/(?:agents\/\{\}\/)?a2a$|ALL |GET \/(?:agents\/\{\}\/)?\.well-known|GET \/(?:health|metrics)|HEAD )/;

interface Entry {
  readonly entryId: string;
  readonly type: string;
  readonly facts: { readonly operation: string; readonly taskIds: readonly string[]; readonly filter?: object };
  readonly actor: { readonly subject: string; readonly role: string };
  readonly altered?: true;
}

async function entries(query = ''): Promise<Entry[]> {
  const { text } = await http('GET', `${server.url}/api/audit/log?type=TaskAccessed${query}`, admin.token);
  return (JSON.parse(text) as { entries: Entry[] }).entries;
}

describe('The operations on tasks', () => {
  it('are all compared with those of a missing task, and all recorded', () => {
    const registered = registeredOperations().filter((name) => !NO_OPERATIONS.test(name));
    expect([...new Set(registered)].toSorted()).toEqual(
      [...COVERED_OPERATIONS, ...Object.keys(OTHER_OPERATIONS)].toSorted(),
    );
  });
});

describe('An admin', () => {
  it.each(TASK_OPERATIONS)(
    'leaves one entry in the audit log with %s on a task of a member',
    async (_name, operation) => {
      const { id, contextId } = await alice.send('ask');
      const response = operation(admin, id, contextId);
      const recorded = await eventually(
        () => entries(`&taskId=${id}`),
        ({ length }) => length > 0,
      );
      // Ends the stream of the operation, if it is one.
      await alice.call('CancelTask', { id });
      expect((await response).status).toBeLessThan(500);
      expect(await entries(`&taskId=${id}`)).toEqual(recorded);
      expect(recorded).toEqual([
        {
          entryId: expect.any(String),
          type: 'TaskAccessed',
          facts: { operation: expect.any(String), taskIds: [id] },
          actor: { subject: 'root', role: 'admin' },
          recordedAt: expect.any(String),
          hash: expect.any(String),
        },
      ]);
    },
  );

  it.each([
    ['1.0 ListTasks', 'POST', '/a2a', '1.0', (contextId: string) => ({ method: 'ListTasks', params: { contextId } })],
    ['1.0 GET tasks', 'GET', '/a2a/v1/tasks?contextId=', '1.0', undefined],
    ['GET /api/tasks', 'GET', '/api/tasks?contextId=', '', undefined],
  ] as const)(
    'leaves one entry with the filter and the shown tasks with %s',
    async (_name, verb, path, version, bodyWith) => {
      const { id, contextId } = await alice.send('hello');
      const { id: second } = await alice.send('hello again', { message: { contextId } });
      const url = server.url + path + (bodyWith === undefined ? contextId : '');
      const body = bodyWith && JSON.stringify({ jsonrpc: '2.0', id: 1, ...bodyWith(contextId) });
      await http(verb, url, admin.token, { headers: { 'A2A-Version': version }, ...(body ? { body } : {}) });
      const recorded = await entries(`&taskId=${id}`);
      // The order of the ids depends on the query plan, because the statement does not sort the page.
      expect(recorded.map(({ facts }) => ({ ...facts, taskIds: facts.taskIds.toSorted() }))).toEqual([
        { operation: 'ListTasks', filter: { contextId }, taskIds: [second, id].toSorted() },
      ]);
    },
  );

  it('leaves no entry with a list of its own tasks only, and none for a task that is missing', async () => {
    const own = new V1Caller(server.url, admin.token);
    const { contextId } = await own.send('mine');
    const before = await entries('&limit=1');
    expect((await own.list({ contextId })).totalSize).toBe(1);
    expect((await own.call('GetTask', { id: '00000000-0000-4000-8000-000000000000' })).body.error?.code).toBe(-32001);
    expect(await entries('&limit=1')).toEqual(before);
  });

  it('finds entries by actor, time and page', async () => {
    const [newest, second] = await entries('&limit=2');
    const page = await http('GET', `${server.url}/api/audit/log?limit=1&type=TaskAccessed`, admin.token);
    expect(JSON.parse(page.text)).toEqual({ entries: [newest], nextAfter: newest!.entryId });
    expect(await entries(`&limit=1&after=${newest!.entryId}`)).toEqual([second]);
    expect(await entries('&actor=nobody')).toEqual([]);
    expect(await entries('&since=2999-01-01T00:00:00Z')).toEqual([]);
    expect(await entries('&until=2001-01-01T00:00:00Z')).toEqual([]);
    const wrong = await http('GET', `${server.url}/api/audit/log?after=nope`, admin.token);
    expect([wrong.status, wrong.text]).toEqual([400, expect.stringContaining('is not an entry of the audit log')]);
  });
});

describe('A member', () => {
  it('leaves no entry with its own tasks, and cannot read the audit log', async () => {
    const { id } = await alice.send('hello');
    await alice.get(id);
    await alice.list();
    expect(await entries(`&taskId=${id}`)).toEqual([]);
    const token = await server.database.createKey(member);
    expect((await http('GET', `${server.url}/api/audit/log`, token)).status).toBe(403);
  });
});
