import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Clock, evolveAll, type Principal, type TaskStatus } from '@app/domain';
import { Database, EventDecoder, ServerSecret } from '@app/storage';
import { aMember, SUBMITTED } from '../../../../test/support/tasks.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database/test-database.js';
import { TaskAccess } from '../access/task-access.js';
import { ListTasks, ListTasksHandler, type ListTasksRequest } from './list-tasks.query.js';
import { pageOfTasks } from './list-tasks.statement.js';
import { PageTokens } from './page-token.js';
import { TaskReader } from './task-reader.js';

const SECRET = 'a secret of the list tests, long enough to be one';
const MANY = 100_000;

let testDatabase: TestDatabase;
let database: Database;
let access: TaskAccess;
let handler: ListTasksHandler;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = new Database(testDatabase.url, { maxConnections: 4 });
  const secret = new ServerSecret(SECRET);
  await database.initializeServerState(secret);
  access = new TaskAccess(database, new EventDecoder(secret), { recordedReads: 'others' }, new Clock());
  handler = new ListTasksHandler(database, TaskReader.create({ database, secret }), new PageTokens(secret), access);
  await seed('0000000a', 'alice', MANY, "timestamptz '2026-01-01T00:00:00Z' + n * interval '1 second'");
  // F23: 1,000 of 10,000 tasks have the same timestamp.
  await seed('0000000c', 'carol', 9_000, "timestamptz '2026-01-01T00:00:00Z' + n * interval '1 second'");
  await seed('000000cc', 'carol', 1_000, "timestamptz '2026-02-01T00:00:00Z'");
  await seed('0000000d', 'dave', 20, "timestamptz '2026-01-01T00:00:00Z' + n * interval '1 second'");
  await testDatabase.asOwner('vacuum (analyze) task, task_key, message');
}, 120_000);

afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

/** Inserts tasks into the read model without events. The last group of an id is the number of the task. */
async function seed(group: string, owner: string, count: number, statusAt: string): Promise<void> {
  const state = JSON.stringify({ ...evolveAll(null, SUBMITTED, '2026-01-01T00:00:00.000Z')!, owner });
  await database.transaction(async (executor) => {
    // Vacuum marks only rows all-visible whose commit is on disk.
    await executor.query('set local synchronous_commit to on');
    await executor.query(
      `insert into task (tenant_id, task_id, context_id, owner, ring, agent, status, version, head_hash, status_at, state)
      select 'acme', ('${group}-0000-8000-8000-' || lpad(n::text, 12, '0'))::uuid, 'context-' || n % 100, $1, 'ring:dev', 'demo',
        case when n % 10 = 0 then 'failed' else 'completed' end, 2, '', ${statusAt},
        ($3::jsonb || jsonb_build_object('statusAt', to_char((${statusAt}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
          'status', case when n % 10 = 0 then 'failed' else 'completed' end))::json
      from generate_series(0, $2::integer - 1) n`,
      [owner, count, state],
    );
    await executor.query(
      `insert into task_key (tenant_id, task_id, key_id, wrapped_key)
      select tenant_id, task_id, 'other', decode(repeat('00', 60), 'hex') from task on conflict do nothing`,
    );
  });
}

const alice = aMember('alice');
const carol = aMember('carol');
const admin: Principal = { ...aMember('root'), role: 'admin', rings: [] };

const list = (principal: Principal, request: ListTasksRequest) => handler.execute(new ListTasks(principal, request));

async function allPages(principal: Principal, request: ListTasksRequest): Promise<string[]> {
  const ids: string[] = [];
  let pageToken = '';
  do {
    const page = await list(principal, { ...request, ...(pageToken === '' ? {} : { pageToken }) });
    ids.push(...page.tasks.map(({ taskId }) => taskId));
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  return ids;
}

describe('ListTasks with 100,000 tasks', () => {
  // F23
  it('returns each of 1,000 tasks with one timestamp exactly once', async () => {
    const request = { pageSize: 7, statusTimestampAfter: '2026-02-01T00:00:00.000Z' };
    const ids = await allPages(carol, request);
    expect(ids).toHaveLength(1_000);
    expect(new Set(ids).size).toBe(1_000);
    expect(ids).toEqual([...ids].sort().reverse());
    expect((await list(carol, request)).totalSize).toBe(1_000);
  });

  it('returns the newest tasks first and the exact total of the accessible tasks', async () => {
    const page = await list(carol, { pageSize: 100 });
    expect(page).toMatchObject({ totalSize: 10_000, pageSize: 100 });
    expect(await list({ ...carol, rings: ['ring:other'] }, {})).toEqual({
      tasks: [],
      nextPageToken: '',
      pageSize: 50,
      totalSize: 0,
    });
    expect((await list(admin, {})).totalSize).toBe(MANY + 10_020);
    expect((await list({ ...admin, tenantId: 'other' }, {})).totalSize).toBe(0);
  });

  // F24
  it('continues after the token when the task of the token has changed or no longer matches', async () => {
    const dave = aMember('dave');
    const before = await allPages(dave, { pageSize: 20 });
    const first = await list(dave, { pageSize: 5, status: 'completed' });
    const last = first.tasks.at(-1)!.taskId;
    await database.pool.query(`update task set status = 'failed', status_at = now() where task_id = $1`, [last]);
    const rest = await allPages(dave, { pageSize: 100, status: 'completed', pageToken: first.nextPageToken });
    const completed = before.filter((id) => !id.endsWith('0'));
    expect([...first.tasks.map(({ taskId }) => taskId), ...rest]).toEqual(completed);
  });
});

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly Alias?: string;
  readonly 'Index Name'?: string;
  readonly Plans?: readonly PlanNode[];
}

describe('The query plan of ListTasks with 100,000 tasks', () => {
  const position = ['2026-01-01T12:00:00.000Z', '0000000a-0000-8000-8000-000000043200'];
  const status: TaskStatus = 'failed';

  it.each([
    ['of one caller', alice, {}],
    ['of one caller and status', alice, { status }],
    ['of one caller and context', alice, { contextId: 'context-7' }],
    ['of one caller since a time', alice, { statusTimestampAfter: '2026-01-02T00:00:00.000Z' }],
    ['of one caller and agent', alice, { agent: 'demo' }],
    [
      'of one caller and ring until a time',
      alice,
      { ring: 'ring:dev', statusTimestampBefore: '2026-01-02T00:00:00.000Z' },
    ],
    ['of an admin', admin, {}],
    ['of an admin and an agent', admin, { agent: 'demo' }],
    ['of an admin and a ring', admin, { ring: 'ring:dev' }],
    ['of an admin and an owner', admin, { owner: 'alice' }],
    ['of an admin and a status', admin, { status }],
    ['of an admin and a context', admin, { contextId: 'context-7' }],
  ])(
    'reads the page and the count %s with index-only scans in the order of the index',
    async (_, principal, filter) => {
      for (const after of [null, position]) {
        const record = access.recordOf(principal, 'ListTasks');
        const page = pageOfTasks(database.kysely, principal, filter, { after, pageSize: 50 }, record);
        const { sql, parameters } = page.compile(database.kysely);
        const { rows } = await database.pool.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
          `explain (format json) ${sql}`,
          [...parameters],
        );
        const nodes = nodesOf(rows[0]!['QUERY PLAN'][0].Plan);
        const types = nodes.map((node) => node['Node Type']);
        expect(types.filter((type) => /Sort|Seq Scan|Bitmap|Hash/.test(type))).toEqual([]);
        const index = principal === admin && !('owner' in filter) ? 'task_of_tenant' : 'task_of_owner';
        const scans = nodes.filter((node) => node['Index Name'] === index);
        expect(scans.map((node) => node['Node Type'])).toEqual(['Index Only Scan', 'Index Only Scan']);
      }
    },
  );
});

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];
