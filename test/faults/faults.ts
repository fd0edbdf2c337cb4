import { setTimeout as delay } from 'node:timers/promises';
import type { Cut } from './fleet/database-proxy.js';
import { type Fleet, LEASE_MS } from './fleet/fleet.js';
import type { LeaseMonitor } from './checks/lease-monitor.js';
import type { ActaMember, Member } from './fleet/member.js';
import type { PostgresCluster } from './fleet/postgres-cluster.js';
import type { Random } from './load/random.js';

/** The parts of a storm that a fault acts on. */
export interface FaultTarget {
  readonly fleet: Fleet;
  readonly cluster: PostgresCluster;
  readonly leases: LeaseMonitor;
  readonly random: Random;
}

export type FaultKind = keyof typeof FAULTS;

/** Each fault resolves when it has ended and the affected processes are up again. */
const FAULTS = {
  'kill -9 a server': ({ fleet, random }: FaultTarget) => killAndRestart(random, random.pick(fleet.servers)),
  'kill -9 a worker': ({ fleet, random }: FaultTarget) => killAndRestart(random, random.pick(fleet.workers)),
  'kill -9 both': ({ fleet, random }: FaultTarget) =>
    killAndRestart(random, random.pick(fleet.servers), random.pick(fleet.workers)),
  'kill -9 an API worker': ({ fleet, random }: FaultTarget) => killAndRestart(random, random.pick(fleet.apiWorkers)),
  'kill -9 the webhook': ({ fleet, random }: FaultTarget) => killAndRestart(random, fleet.webhook),
  'pause past the lease': ({ fleet, leases, random }: FaultTarget) =>
    pauseProcess(random.pick(fleet.executors), leases, random),
  'pause an API worker past the lease': ({ fleet, leases, random }: FaultTarget) =>
    pauseProcess(random.pick(fleet.apiWorkers), leases, random),
  'unresponsive network past the lease': ({ fleet, leases, random }: FaultTarget) => {
    const member = random.pick(fleet.executors);
    return member.exclusively(async () => {
      member.proxy.pause();
      await waitPastLease(member, leases, random);
      member.proxy.resume();
    });
  },
  // No process can end a run meanwhile. The first one whose traffic resumes has an expired lease.
  'all networks unresponsive past the lease': async ({ fleet, leases, random }: FaultTarget) => {
    const member = random.pick(fleet.executors);
    const others = fleet.members.filter((other) => other !== member);
    await member.exclusively(async () => {
      for (const { proxy } of fleet.members) proxy.pause();
      await leases.untilExpired(member.workerPattern, 2 * LEASE_MS);
      member.proxy.resume();
      await delay(50);
      for (const { proxy } of others) proxy.resume();
    });
  },
  'restart Postgres': ({ cluster, random }: FaultTarget) => restartPostgres(cluster, 'fast', random),
  'crash Postgres': ({ cluster, random }: FaultTarget) => restartPostgres(cluster, 'immediate', random),
  'cut in a transaction': ({ fleet, random }: FaultTarget) =>
    armCut(random.pick(fleet.members), 'cut in a transaction', random),
  'cut after an append': ({ fleet, random }: FaultTarget) =>
    armCut(random.pick(fleet.members), 'cut after an append', random),
  'cut before the response': ({ fleet, random }: FaultTarget) =>
    armCut(random.pick(fleet.members), 'cut before the response', random),
  'reset all connections': async ({ fleet }: FaultTarget) => {
    for (const { proxy } of fleet.members) proxy.cutAll();
  },
  'set a clock back': async ({ fleet, random }: FaultTarget) => {
    const member = random.pick(fleet.workers);
    await member.exclusively(async () => member.signal('SIGUSR2'));
  },
};

const KINDS = Object.keys(FAULTS) as FaultKind[];
const KILLS: readonly FaultKind[] = ['kill -9 a server', 'kill -9 a worker', 'kill -9 both'];
const API_WORKER_FAULTS: readonly FaultKind[] = ['kill -9 an API worker', 'pause an API worker past the lease'];
/** Faults after which a worker still has writes to send. */
const LEASE_FAULTS: readonly FaultKind[] = [
  'pause past the lease',
  'unresponsive network past the lease',
  'all networks unresponsive past the lease',
];

/** Chooses the faults of a storm and their start times. Each storm has a kill, and a fault of an API worker. */
export function planFaults(random: Random, ms: number, breakFence: boolean): { delayMs: number; kind: FaultKind }[] {
  const count = random.between(6, 9);
  const kinds = Array.from({ length: count }, (_, nth) => {
    if (breakFence) return nth < 2 ? LEASE_FAULTS.at(-1)! : random.pick(LEASE_FAULTS);
    return random.pick([KILLS, API_WORKER_FAULTS][nth] ?? KINDS);
  });
  return kinds
    .map((kind) => ({ delayMs: random.between(ms * 0.05, ms * 0.9), kind }))
    .toSorted((one, other) => one.delayMs - other.delayMs);
}

/** Injects one fault and waits for its end. */
export const inject = (kind: FaultKind, target: FaultTarget): Promise<void> => FAULTS[kind](target);

async function killAndRestart(random: Random, ...members: Member[]): Promise<void> {
  const downMs = random.between(0, 800);
  await Promise.all(
    members.map((member) =>
      member.exclusively(async () => {
        await member.crash();
        await delay(downMs);
        await member.start();
      }),
    ),
  );
}

function pauseProcess(member: Member, leases: LeaseMonitor, random: Random): Promise<void> {
  return member.exclusively(async () => {
    member.signal('SIGSTOP');
    await waitPastLease(member, leases, random);
    member.signal('SIGCONT');
  });
}

/** Waits until the leases have expired. Sometimes it returns before the runs are ended, sometimes after others have executed them. */
async function waitPastLease(member: Member, leases: LeaseMonitor, random: Random): Promise<void> {
  await delay(random.between(100, 200));
  await leases.untilExpired(member.workerPattern, 2 * LEASE_MS);
  await delay(random.chance(0.5) ? 0 : random.between(0, 2_000));
}

let restarting: Promise<void> = Promise.resolve();

function restartPostgres(cluster: PostgresCluster, mode: 'fast' | 'immediate', random: Random): Promise<void> {
  const downMs = random.between(0, 1_000);
  restarting = restarting.then(() => cluster.restart(mode, downMs));
  return restarting;
}

async function armCut({ proxy }: ActaMember, moment: Cut, random: Random): Promise<void> {
  proxy.arm(moment, random.between(1, 6));
}
