import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { ContentCipher } from '../../../dist/libs/storage/src/index.js';
import { ListTasks, SendMessage } from '../../../dist/libs/tasks/src/index.js';
import { openActa, recordQueries } from '../peers/in-process.mjs';
import { median } from '../quantiles.mjs';

const CALLER = { tenantId: 'default', subject: 'caller', role: 'member', rings: ['ring:default'], agents: [] };
const RUNS = 31;

/**
 * Measures a page of 50 and the exact total for a caller with few and with many tasks. The times are from the plans of the
 * statement that ListTasks sends, and the result contains the plans.
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
    /** @type {{ page: number, count: number, plainCount: number, query: number, plan: string }[][]} */
    const samples = [[], []];
    for (let run = 0; run < RUNS; run += 1) {
      for (const [index, list] of lists.entries()) samples[index].push(await list.measure());
    }
    return lists.map(({ tasks }, index) => {
      const middle = (/** @type {'page' | 'count' | 'plainCount' | 'query'} */ value) =>
        median(samples[index].map((run) => run[value]));
      return {
        tasks,
        pageMs: middle('page'),
        countMs: middle('count'),
        plainCountMs: middle('plainCount'),
        queryMs: middle('query'),
        plan: /** @type {string} */ (samples[index].at(-1)?.plan),
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
  const request = { configuration: { returnImmediately: false } };
  const send = new SendMessage(CALLER, { message, request, acknowledged: false });
  const { taskId, follower } = await acta.commands.execute(send);
  await follower.untilOutcome();
  await copyTask(client, new ContentCipher(acta.storage.secret), taskId, tasks - 1);
  const list = () => acta.queries.execute(new ListTasks(CALLER, { pageSize: 50 }));
  const { totalSize, tasks: shown } = await list();
  if (totalSize !== tasks || shown.length !== 50)
    throw new Error(`ListTasks returned a total of ${totalSize} and a page of ${shown.length} for ${tasks} tasks`);
  const statement = (await recordQueries(list)).find(({ text }) => /count\(\*\)/.test(text));
  if (statement === undefined) throw new Error('ListTasks sent no statement with count(*)');
  return {
    tasks,
    async measure() {
      const sent = performance.now();
      await list();
      const query = performance.now() - sent;
      const plan = await explain(client, statement.text, statement.values);
      const count = find(plan, (node) => node['Node Type'] === 'Aggregate' && node['Strategy'] === 'Plain');
      const plain = await explain(client, 'select count(*) from task where tenant_id = $1 and owner = $2', [
        CALLER.tenantId,
        CALLER.subject,
      ]);
      // The statement joins the count with the page, so every other node belongs to the page.
      const page = (plan.Plans ?? []).filter((child) => find(child, (node) => node === count) === undefined);
      const pageMs = page.reduce((sum, node) => sum + node['Actual Total Time'] * node['Actual Loops'], 0);
      const countMs = count?.['Actual Total Time'] ?? NaN;
      return { page: pageMs, count: countMs, plainCount: plain['Actual Total Time'], query, plan: describe(plan) };
    },
    async close() {
      await client.end();
      await acta.close();
    },
  };
}

/** Copies a task in the read model. The copies differ in their ids, time and key. */
async function copyTask(
  /** @type {pg.Client} */ client,
  /** @type {ContentCipher} */ cipher,
  /** @type {string} */ taskId,
  /** @type {number} */ copies,
) {
  for (let copied = 0; copied < copies; copied += 10_000) {
    const ids = Array.from({ length: Math.min(10_000, copies - copied) }, () => randomUUID());
    await client.query(
      `insert into task select (jsonb_populate_record(t, jsonb_build_object('task_id', i.id, 'context_id', i.id,
          'status_at', i.at, 'state', jsonb_set(t.state::jsonb, '{statusAt}', to_jsonb(i.at))))).*
        from task t, (select id, to_char(now() - random() * interval '30 days', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at
          from unnest($2::uuid[]) as id) i
        where t.tenant_id = $3 and t.task_id = $1`,
      [taskId, ids, CALLER.tenantId],
    );
    const keys = ids.map((id) => cipher.newKey(CALLER.tenantId, id));
    await client.query(
      `insert into task_key (tenant_id, task_id, key_id, wrapped_key)
        select $1, k.* from unnest($2::uuid[], $3::text[], $4::bytea[]) as k`,
      [CALLER.tenantId, ids, keys.map(({ keyId }) => keyId), keys.map(({ wrapped }) => wrapped)],
    );
  }
  // Autovacuum does the same. Index-only scans need the visibility map.
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

/** Formats a plan, one line per node: its type, relation, time, rows and loops. */
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
