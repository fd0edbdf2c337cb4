import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { EventLog } from '@app/event-log';
import { Database, ServerSecret } from '@app/storage';
import { SECRET } from '../support/processes/start-server.js';
import { checkThroughApi } from './checks/api-check.js';
import { faultsOf, inject } from './faults.js';
import { Fleet } from './fleet/fleet.js';
import { removeFence } from './fleet/fence.js';
import { Journal } from './load/journal.js';
import { LeaseWatch } from './checks/lease-watch.js';
import { Load } from './load/load.js';
import type { PostgresCluster } from './fleet/postgres-cluster.js';
import { Random } from './load/random.js';
import { checkDerived, checkPromises, readRecord } from './checks/record-check.js';
import { checkRemoteWorkers } from './checks/worker-api-check.js';
import type { RemoteReport } from './load/http-worker.js';
import { checkTexts } from './checks/text-check.js';
import { checkWebhooks } from './checks/webhook-check.js';
import type { WebhookReport } from './load/webhook-receiver.program.js';

export interface StormOptions {
  readonly seed: number;
  /** Of load and faults; what comes before and after takes about as long again. */
  readonly seconds: number;
  /** Without the fence in the statement that appends: then the checks must find something. */
  readonly breakFence?: boolean;
}

export interface StormReport {
  readonly seed: number;
  readonly tasks: number;
  /** Tasks of those, which remote workers did. */
  readonly remote: number;
  /** Webhooks that were told of their task. */
  readonly webhooks: number;
  readonly events: number;
  readonly messages: number;
  /** Kind → how often. */
  readonly faults: Readonly<Record<string, number>>;
  readonly violations: readonly string[];
}

const QUIET_MS = 60_000;
const LEFT = `select exists (select from run_queue) or exists (select from push_delivery where state = 'pending') as left`;

/** Load and faults on a fresh database, then every check there is. */
export async function storm(cluster: PostgresCluster, options: StormOptions): Promise<StormReport> {
  const { seed, seconds, breakFence = false } = options;
  const random = new Random(seed);
  const name = `storm_${seed}_${process.pid}`;
  const url = await cluster.createDatabase(name);
  if (breakFence) await removeFence(url);
  const scratch = await mkdtemp(join(cluster.directory, 'storm-'));
  const journal = new Journal();
  const violation = (what: string) => journal.violations.push(what);
  const ground = { cluster, database: name, url, scratch, onEndedByItself: violation };
  const fleet = await Fleet.start(ground, random.fork());
  const leases = new LeaseWatch(url);
  const database = new Database(url, { maxConnections: 4 });
  try {
    const faults: Record<string, number> = {};
    const plan = faultsOf(random, seconds * 1_000, breakFence);
    const field = { fleet, cluster, leases, random };
    const injected = Promise.all(
      plan.map(async ({ at, kind }) => {
        await delay(at);
        // A cut is counted where it is made.
        if (!kind.startsWith('cut')) faults[kind] = (faults[kind] ?? 0) + 1;
        await inject(kind, field);
      }),
    );
    const over = Promise.all([injected, delay(seconds * 1_000)]).then(() => fleet.heal());
    await Promise.all([over, new Load(fleet, journal, random.fork()).run(over)]);
    await untilQuiet(database);

    const secret = new ServerSecret(SECRET);
    await database.claimState(secret);
    const log = new EventLog(database, secret);
    const record = await readRecord(database, secret, leases.overdue);
    const told = await checkWebhooks(database, record.tasks, fleet.webhook.reports<WebhookReport>());
    const remoteReports = fleet.remoteWorkers.flatMap((worker) => worker.reports<RemoteReport>());
    const violations = [
      ...(await checkThroughApi(fleet.urls[0]!, journal)),
      ...record.violations,
      ...checkPromises(journal, record.tasks),
      ...checkRemoteWorkers(record.tasks, remoteReports),
      ...(await checkTexts(log, record.tasks)),
      ...told.violations,
      ...(await checkDerived(database, secret)),
      ...(await fleet.stop()),
    ];
    for (const { proxy } of fleet.members) {
      for (const [cut, times] of Object.entries(proxy.cuts)) if (times > 0) faults[cut] = (faults[cut] ?? 0) + times;
    }
    if (fleet.front.lost > 0) faults['answer to a remote worker lost'] = fleet.front.lost;
    const { tasks, events } = record;
    const remote = [...tasks.values()].filter(({ state }) => state.agent === 'afar').length;
    const all = [...journal.violations, ...violations];
    const { webhooks } = told;
    const messages = journal.sent.length;
    return { seed, tasks: tasks.size, remote, webhooks, events, messages, faults, violations: all };
  } catch (error) {
    // Whatever it left running would be in the way of the next storm.
    await fleet.stop().catch(() => undefined);
    throw error;
  } finally {
    await leases.close();
    await database.close();
    await cluster.dropDatabase(name);
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Until nothing is left to execute and nothing to tell; what then still is, is stuck. */
async function untilQuiet(database: Database): Promise<void> {
  const deadline = Date.now() + QUIET_MS;
  while (Date.now() < deadline) {
    const { rows } = await database.pool.query<{ left: boolean }>(LEFT);
    if (!rows[0]!.left) return;
    await delay(50);
  }
}
