import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { ContentCipher } from '../../../dist/libs/storage/src/index.js';
import { ListTasks, SendMessage } from '../../../dist/libs/tasks/src/index.js';
import { openActa, recordQueries } from '../peers/in-process.mjs';
import { median } from '../quantiles.mjs';

const CALLER = { tenantId: 'default', subject: 'caller', role: 'member', rings: ['ring:default'], agents: [] };
const RUNS = 31;

/**
 * What a page of 50 and the exact total cost one caller who has few and many tasks, from the plans of the statement that
 * ListTasks really sends, with the plans.
 */
export async function measureLists(
  /** @type {Awaited<ReturnType<import('../postgres.mjs').openPostgres>>} */ postgres,
  /** @type {readonly number[]} */ [few, many] = [1_000, 100_000],
) {
  const lists = [
    await openList(await postgres.database('few'), few),
    await openList(await postgres.database('many'), many),
  ];
  try {
    /** @type {{ page: number, count: number, bareCount: number, query: number, plan: string }[][]} */
    const taken = [[], []];
    for (let run = 0; run < RUNS; run += 1) {
      for (const [at, list] of lists.entries()) taken[at].push(await list.measure());
    }
    return lists.map(({ tasks }, at) => {
      const middle = (/** @type {'page' | 'count' | 'bareCount' | 'query'} */ what) =>
        median(taken[at].map((run) => run[what]));
      return {
        tasks,
        pageMs: middle('page'),
        countMs: middle('count'),
        bareCountMs: middle('bareCount'),
        queryMs: middle('query'),
        plan: /** @type {string} */ (taken[at].at(-1)?.plan),
      };
    });
  } finally {
    for (const list of lists) await list.close();
  }
}

async function openList(/** @type {string} */ url, /** @type {number} */ tasks) {
  const acta = await openActa(url);
  const client = new pg.Client(url);
  await client.connect();
  const message = { messageId: randomUUID(), role: 'user', parts: [{ text: 'hello' }] };
  const { taskId, follower } = await acta.commands.execute(new SendMessage(CALLER, { message, acknowledged: false }));
  await follower.untilOutcome();
  await copyTask(client, new ContentCipher(acta.storage.secret), taskId, tasks - 1);
  const list = () => acta.queries.execute(new ListTasks(CALLER, { pageSize: 50 }));
  const { totalSize, tasks: shown } = await list();
  if (totalSize !== tasks || shown.length !== 50) throw new Error(`a list of ${tasks} tasks came back as ${totalSize}`);
  const statement = (await recordQueries(list)).find(({ text }) => /count\(\*\)/.test(text));
  if (statement === undefined) throw new Error('ListTasks sent no statement that counts');
  return {
    tasks,
    async measure() {
      const sent = performance.now();
      await list();
      const query = performance.now() - sent;
      const plan = await explain(client, statement.text, statement.values);
      const count = find(plan, (node) => node['Node Type'] === 'Aggregate' && node['Strategy'] === 'Plain');
      const bare = await explain(client, 'select count(*) from task where tenant_id = $1 and owner = $2', [
        CALLER.tenantId,
        CALLER.subject,
      ]);
      // The statement joins the count with the page: what is not the one is the other.
      const page = (plan.Plans ?? []).filter((child) => find(child, (node) => node === count) === undefined);
      const pageMs = page.reduce((sum, node) => sum + node['Actual Total Time'] * node['Actual Loops'], 0);
      const countMs = count?.['Actual Total Time'] ?? NaN;
      return { page: pageMs, count: countMs, bareCount: bare['Actual Total Time'], query, plan: describe(plan) };
    },
    async close() {
      await client.end();
      await acta.close();
    },
  };
}

/** Rows of the read model that differ from a real task's in what makes a task: its ids, its time and its key. */
async function copyTask(
  /** @type {pg.Client} */ client,
  /** @type {ContentCipher} */ cipher,
  /** @type {string} */ taskId,
  /** @type {number} */ copies,
) {
  for (let made = 0; made < copies; made += 10_000) {
    const ids = Array.from({ length: Math.min(10_000, copies - made) }, () => randomUUID());
    await client.query(
      `insert into task select (jsonb_populate_record(t, jsonb_build_object('task_id', i.id, 'context_id', i.id,
          'status_at', i.at, 'state', jsonb_set(t.state::jsonb, '{statusAt}', to_jsonb(i.at))))).*
        from task t, (select id, to_char(now() - random() * interval '30 days', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at
          from unnest($2::text[]) as id) i
        where t.tenant_id = $3 and t.task_id = $1`,
      [taskId, ids, CALLER.tenantId],
    );
    await client.query(
      `insert into task_key (tenant_id, task_id, wrapped_key) select $1, id, key from unnest($2::text[], $3::bytea[]) as k (id, key)`,
      [CALLER.tenantId, ids, ids.map((id) => cipher.newKey(CALLER.tenantId, id).wrapped)],
    );
  }
  // As autovacuum leaves it: index-only scans need the visibility map.
  await client.query('vacuum analyze');
}

/** @typedef {Record<string, any> & { Plans?: PlanNode[] }} PlanNode */

/** @returns {Promise<PlanNode>} */
async function explain(/** @type {pg.Client} */ client, /** @type {string} */ text, /** @type {unknown[]} */ values) {
  const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, values);
  return rows[0]['QUERY PLAN'][0].Plan;
}

/** @returns {PlanNode | undefined} */
function find(/** @type {PlanNode} */ node, /** @type {(node: PlanNode) => boolean} */ wanted) {
  if (wanted(node)) return node;
  for (const child of node.Plans ?? []) {
    const found = find(child, wanted);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** One line a node: what it is, on what, how often, its rows and its time. */
function describe(/** @type {PlanNode} */ node, depth = 0) {
  const on = node['Index Name'] ?? node['Relation Name'];
  const line =
    `${'  '.repeat(depth)}${node['Node Type']}${on === undefined ? '' : ` on ${on}`}` +
    ` (${node['Actual Total Time']} ms, ${node['Actual Rows']} rows, ${node['Actual Loops']} loops` +
    `${node['Heap Fetches'] === undefined ? '' : `, ${node['Heap Fetches']} heap fetches`})`;
  /** @type {string[]} */
  const lines = [line, ...(node.Plans ?? []).map((child) => describe(child, depth + 1))];
  return lines.join('\n');
}
