import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { EventLog } from '@app/event-log';
import { Database, ServerSecret } from '@app/storage';
import { SECRET } from '../support/processes/start-server.js';
import { checkApi } from './checks/api-check.js';
import { planFaults, inject } from './faults.js';
import { API_WORKER_AGENT, Fleet } from './fleet/fleet.js';
import { removeFence } from './fleet/fence.js';
import { Journal } from './load/journal.js';
import { LeaseMonitor } from './checks/lease-monitor.js';
import { Load } from './load/load.js';
import type { PostgresCluster } from './fleet/postgres-cluster.js';
import { Random } from './load/random.js';
import { checkReadModelsAndChains, checkJournal, readEventLog } from './checks/event-log-check.js';
import { checkWorkerReports } from './checks/worker-api-check.js';
import type { WorkerReport } from './load/worker.program.js';
import { checkTexts } from './checks/text-check.js';
import { checkWebhooks } from './checks/webhook-check.js';
import type { WebhookReport } from './load/webhook-receiver.program.js';

export interface StormOptions {
  readonly seed: number;
  /** Duration of load and faults. The preparation and the checks take about as long again. */
  readonly seconds: number;
  /** Removes the fence from the append statement, so that the checks must find violations. */
  readonly breakFence?: boolean;
}

export interface StormReport {
  readonly seed: number;
  readonly tasks: number;
  /** The number of these tasks that API workers executed. */
  readonly apiWorkerTasks: number;
  /** The number of webhooks that received every update of their task. */
  readonly webhooks: number;
  readonly events: number;
  readonly messages: number;
  /** Kind of fault → number of times. */
  readonly faults: Readonly<Record<string, number>>;
  readonly violations: readonly string[];
}

const DRAIN_TIMEOUT_MS = 60_000;
const PENDING = `select exists (select from run_queue)
  or exists (select from push_delivery where state = 'pending') as pending`;

/** Runs load and faults on a new database, and then all checks. */
export async function storm(cluster: PostgresCluster, options: StormOptions): Promise<StormReport> {
  const { seed, seconds, breakFence = false } = options;
  const random = new Random(seed);
  const name = `storm_${seed}_${process.pid}`;
  const url = await cluster.createDatabase(name);
  if (breakFence) await removeFence(url);
  const scratch = await mkdtemp(join(cluster.directory, 'storm-'));
  const journal = new Journal();
  const onUnexpectedExit = (problem: string) => journal.violations.push(problem);
  const fleet = await Fleet.start({ cluster, database: name, url, scratch, onUnexpectedExit }, random.fork());
  const leases = new LeaseMonitor(url);
  const database = new Database(url, { maxConnections: 4 });
  try {
    const faults: Record<string, number> = {};
    const plan = planFaults(random, seconds * 1_000, breakFence);
    const target = { fleet, cluster, leases, random };
    const injected = Promise.all(
      plan.map(async ({ delayMs, kind }) => {
        await delay(delayMs);
        // The proxy counts the cuts when they happen.
        if (!kind.startsWith('cut')) faults[kind] = (faults[kind] ?? 0) + 1;
        await inject(kind, target);
      }),
    );
    const faultsEnded = Promise.all([injected, delay(seconds * 1_000)]).then(() => fleet.heal());
    await Promise.all([faultsEnded, new Load(fleet, journal, random.fork()).run(faultsEnded)]);
    await untilDrained(database);
    const results = await check(fleet, database, journal, leases);
    return { seed, messages: journal.sent.length, faults: { ...faults, ...networkFaults(fleet) }, ...results };
  } catch (error) {
    // Remaining processes would disturb the next storm.
    await fleet.stop().catch(() => undefined);
    throw error;
  } finally {
    await leases.close();
    await database.close();
    await cluster.dropDatabase(name);
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Waits until no run and no webhook delivery is pending. Those that are pending after the timeout are stuck. */
async function untilDrained(database: Database): Promise<void> {
  const deadline = Date.now() + DRAIN_TIMEOUT_MS;
  while (Date.now() < deadline) {
    const { rows } = await database.pool.query<{ pending: boolean }>(PENDING);
    if (!rows[0]!.pending) return;
    await delay(50);
  }
}

/** Runs every check and stops the fleet. */
async function check(fleet: Fleet, database: Database, journal: Journal, leases: LeaseMonitor) {
  const secret = new ServerSecret(SECRET);
  await database.initializeServerState(secret);
  const log = new EventLog(database, secret);
  const { tasks, events, violations } = await readEventLog(database, secret, leases.expired);
  const webhookResults = await checkWebhooks(database, tasks, fleet.webhook.reports<WebhookReport>());
  const workerReports = fleet.apiWorkers.flatMap((worker) => worker.reports<WorkerReport>());
  const found = [
    ...(await checkApi(fleet.urls[0]!, journal)),
    ...violations,
    ...checkJournal(journal, tasks),
    ...checkWorkerReports(tasks, workerReports),
    ...(await checkTexts(log, tasks)),
    ...webhookResults.violations,
    ...(await checkReadModelsAndChains(database, secret)),
    ...(await fleet.stop()),
  ];
  return {
    tasks: tasks.size,
    apiWorkerTasks: [...tasks.values()].filter(({ state }) => state.agent === API_WORKER_AGENT).length,
    webhooks: webhookResults.webhooks,
    events,
    violations: [...journal.violations, ...found],
  };
}

/** Returns kind → number, of the faults that the proxies and the load balancer have injected. */
function networkFaults({ members, loadBalancer }: Fleet): Record<string, number> {
  const faults: Record<string, number> = { 'drop a response to an API worker': loadBalancer.droppedResponses };
  for (const { proxy } of members) {
    for (const [cut, times] of Object.entries(proxy.cuts)) faults[cut] = (faults[cut] ?? 0) + times;
  }
  return Object.fromEntries(Object.entries(faults).filter(([, times]) => times > 0));
}
