import { setTimeout as delay } from 'node:timers/promises';
import type { Cut } from './fleet/database-proxy.js';
import { type Fleet, LEASE_MS } from './fleet/fleet.js';
import type { LeaseWatch } from './checks/lease-watch.js';
import type { ActaMember, Member } from './fleet/member.js';
import type { PostgresCluster } from './fleet/postgres-cluster.js';
import type { Random } from './load/random.js';

/** What a fault happens to. */
export interface Field {
  readonly fleet: Fleet;
  readonly cluster: PostgresCluster;
  readonly leases: LeaseWatch;
  readonly random: Random;
}

export type FaultKind = keyof typeof FAULTS;

/** Each resolves when it is over and what it broke is up again. */
const FAULTS = {
  'kill -9 a server': ({ fleet, random }: Field) => killed(random, random.pick(fleet.servers)),
  'kill -9 a worker': ({ fleet, random }: Field) => killed(random, random.pick(fleet.workers)),
  'kill -9 both': ({ fleet, random }: Field) => killed(random, random.pick(fleet.servers), random.pick(fleet.workers)),
  'kill -9 a remote worker': ({ fleet, random }: Field) => killed(random, random.pick(fleet.remoteWorkers)),
  'kill -9 the webhook': ({ fleet, random }: Field) => killed(random, fleet.webhook),
  'stop past the lease': ({ fleet, leases, random }: Field) => stopped(random.pick(fleet.executors), leases, random),
  'remote worker stopped past the lease': ({ fleet, leases, random }: Field) =>
    stopped(random.pick(fleet.remoteWorkers), leases, random),
  'network silent past the lease': ({ fleet, leases, random }: Field) => {
    const member = random.pick(fleet.executors);
    return member.alone(async () => {
      member.proxy.hold();
      await pastTheLease(member, leases, random);
      member.proxy.letGo();
    });
  },
  // Nobody can take a run back meanwhile; the first to be heard again is one who should no longer have a say.
  'all networks silent past the lease': async ({ fleet, leases, random }: Field) => {
    const member = random.pick(fleet.executors);
    const others = fleet.members.filter((other) => other !== member);
    await member.alone(async () => {
      for (const { proxy } of fleet.members) proxy.hold();
      await leases.over(member.holder, 2 * LEASE_MS);
      member.proxy.letGo();
      await delay(50);
      for (const { proxy } of others) proxy.letGo();
    });
  },
  'Postgres restarted fast': ({ cluster, random }: Field) => restart(cluster, 'fast', random),
  'Postgres crashed': ({ cluster, random }: Field) => restart(cluster, 'immediate', random),
  'cut in a transaction': ({ fleet, random }: Field) => cut(random.pick(fleet.members), 'cut in a transaction', random),
  'cut with an append': ({ fleet, random }: Field) => cut(random.pick(fleet.members), 'cut with an append', random),
  'cut before the answer': ({ fleet, random }: Field) =>
    cut(random.pick(fleet.members), 'cut before the answer', random),
  'all connections cut': async ({ fleet }: Field) => {
    for (const { proxy } of fleet.members) proxy.cutAll();
  },
  'clock set back': async ({ fleet, random }: Field) => {
    const member = random.pick(fleet.workers);
    await member.alone(async () => member.signal('SIGUSR2'));
  },
};

const KINDS = Object.keys(FAULTS) as FaultKind[];
const KILLS: readonly FaultKind[] = ['kill -9 a server', 'kill -9 a worker', 'kill -9 both'];
const REMOTE: readonly FaultKind[] = ['kill -9 a remote worker', 'remote worker stopped past the lease'];
/** Those after which a worker that was away still has something to say. */
const LATE: readonly FaultKind[] = [
  'stop past the lease',
  'network silent past the lease',
  'all networks silent past the lease',
];

/** Moment in ms → fault; every storm has a kill, and one fault of a remote worker. */
export function faultsOf(random: Random, ms: number, breakFence: boolean): { at: number; kind: FaultKind }[] {
  const count = random.between(6, 9);
  const kinds = Array.from({ length: count }, (_, nth) => {
    if (breakFence) return nth < 2 ? LATE.at(-1)! : random.pick(LATE);
    return random.pick([KILLS, REMOTE][nth] ?? KINDS);
  });
  return kinds
    .map((kind) => ({ at: random.between(ms * 0.05, ms * 0.9), kind }))
    .toSorted((one, other) => one.at - other.at);
}

export const inject = (kind: FaultKind, field: Field): Promise<void> => FAULTS[kind](field);

async function killed(random: Random, ...members: Member[]): Promise<void> {
  const downMs = random.between(0, 800);
  await Promise.all(
    members.map((member) =>
      member.alone(async () => {
        await member.crash();
        await delay(downMs);
        await member.start();
      }),
    ),
  );
}

function stopped(member: Member, leases: LeaseWatch, random: Random): Promise<void> {
  return member.alone(async () => {
    member.signal('SIGSTOP');
    await pastTheLease(member, leases, random);
    member.signal('SIGCONT');
  });
}

/** Sometimes only just, so that nobody has taken the runs back yet; sometimes long enough that others have done them. */
async function pastTheLease(member: Member, leases: LeaseWatch, random: Random): Promise<void> {
  await delay(random.between(100, 200));
  await leases.over(member.holder, 2 * LEASE_MS);
  await delay(random.chance(0.5) ? 0 : random.between(0, 2_000));
}

let restarting: Promise<void> = Promise.resolve();

function restart(cluster: PostgresCluster, mode: 'fast' | 'immediate', random: Random): Promise<void> {
  const downMs = random.between(0, 1_000);
  restarting = restarting.then(() => cluster.restart(mode, downMs));
  return restarting;
}

async function cut({ proxy }: ActaMember, where: Cut, random: Random): Promise<void> {
  proxy.arm(where, random.between(1, 6));
}
