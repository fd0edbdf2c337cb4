import { randomUUID } from 'node:crypto';
import { ApiKeys, AuditLog } from '../../../dist/libs/access/src/index.js';
import { HttpConnection } from '../load/http-connection.mjs';
import { openActa } from '../peers/in-process.mjs';
import { startActa } from '../peers/peers.mjs';
import { benchFile } from '../processes.mjs';
import { median } from '../quantiles.mjs';

const ARTIFACTS = 1_000;
/** The tasks whose requests are interleaved. */
const KINDS = /** @type {const} */ (['large', 'small', 'missing']);
const HOOK = { id: 'hook', url: 'https://example.com/hook' };

/** @type {Record<string, (id: string) => object>} */
const OPERATIONS = {
  GetTask: (id) => ({ id }),
  CancelTask: (id) => ({ id }),
  SubscribeToTask: (id) => ({ id }),
  SendMessage: (taskId) => message('hello', { taskId }),
  CreateTaskPushNotificationConfig: (taskId) => ({ taskId, ...HOOK }),
  GetTaskPushNotificationConfig: (taskId) => ({ taskId, id: 'hook' }),
  ListTaskPushNotificationConfigs: (taskId) => ({ taskId }),
  DeleteTaskPushNotificationConfig: (taskId) => ({ taskId, id: 'hook' }),
};

const message = (/** @type {string} */ text, /** @type {object} */ more = {}) => ({
  message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more },
});

/**
 * Measures how long each operation takes for a task that another user owns, with 1,000 artifacts and with one, and for a missing
 * task. The requests are interleaved, so that a change of the machine's speed affects all kinds.
 *
 * @returns {Promise<{ requests: number, operations: Record<string, Record<(typeof KINDS)[number], number>> }>} medians in ms
 */
export async function measureAccess(
  /** @type {Awaited<ReturnType<import('../postgres.mjs').openPostgres>>} */ postgres,
  /** @type {{ requests: number }} */ { requests },
) {
  const databaseUrl = await postgres.database('access');
  const [owner, other] = await createKeys(databaseUrl, ['owner', 'other']);
  const server = await startActa(databaseUrl, {
    ACTA_AGENTS: benchFile('peers/bench-agents.mjs'),
    ACTA_RATE_LIMIT: '0',
  });
  const connect = (/** @type {string} */ path, /** @type {string} */ token) =>
    HttpConnection.open(new URL(path, server.url), { 'A2A-Version': '1.0', Authorization: `Bearer ${token}` });
  const publisher = await connect('/agents/publisher/a2a', owner);
  const caller = await connect('/a2a', other);
  try {
    const ids = {
      large: await publish(publisher, ARTIFACTS),
      small: await publish(publisher, 1),
      missing: randomUUID(),
    };
    /** @type {Record<string, any>} */
    const operations = {};
    for (const [method, params] of Object.entries(OPERATIONS)) {
      /** @type {Record<string, number[]>} */
      const samples = { large: [], small: [], missing: [] };
      for (let nth = -100; nth < requests / KINDS.length; nth += 1) {
        for (const kind of KINDS) {
          const started = performance.now();
          const { error } = await rpc(caller, method, params(ids[kind]));
          if (error?.code !== -32001)
            throw new Error(`${method} of a task of others returned ${JSON.stringify(error)}`);
          // The first requests include compilation.
          if (nth >= 0) samples[kind].push(performance.now() - started);
        }
      }
      operations[method] = Object.fromEntries(KINDS.map((kind) => [kind, median(samples[kind])]));
    }
    return { requests, operations };
  } finally {
    publisher.close();
    caller.close();
    await server.stop();
  }
}

async function createKeys(/** @type {string} */ databaseUrl, /** @type {readonly string[]} */ subjects) {
  const { storage, close } = await openActa(databaseUrl);
  const keys = new ApiKeys(storage.database, AuditLog.over(storage.database));
  const tenant = { tenantId: 'default', role: /** @type {const} */ ('operator'), rings: [], agents: [] };
  const tokens = [];
  for (const subject of subjects) {
    const key = { subject, role: /** @type {const} */ ('member'), rings: ['ring:default'], agents: [] };
    tokens.push((await keys.create({ ...tenant, subject: 'bench' }, { tenantId: 'default', ...key })).token);
  }
  await close();
  return tokens;
}

async function publish(/** @type {HttpConnection} */ connection, /** @type {number} */ artifacts) {
  const { result, error } = await rpc(connection, 'SendMessage', message(String(artifacts)));
  if (result?.task === undefined) throw new Error(`no task with ${artifacts} artifacts: ${JSON.stringify(error)}`);
  return result.task.id;
}

const rpc = async (
  /** @type {HttpConnection} */ connection,
  /** @type {string} */ method,
  /** @type {object} */ params,
) => JSON.parse(await connection.post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })));
