import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ActaProcess, type Environment } from '../../support/processes/acta-process.js';
import { DatabaseView } from '../../support/database/database-view.js';
import { environmentFor } from '../../support/processes/start-server.js';
import { DatabaseProxy } from './database-proxy.js';
import { ActaMember, Member, ownProgram } from './member.js';
import type { PostgresCluster } from './postgres-cluster.js';
import type { Random } from '../load/random.js';
import { ServerFront } from './server-front.js';

export const LEASE_MS = 1_500;
const REMOTE_WORKERS = 2;
const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));

const ENVIRONMENT: Environment = {
  ACTA_AGENTS: [here('storm.agent.mjs'), here('afar.agent.mjs')].join(),
  ACTA_LEASE_MS: String(LEASE_MS),
  ACTA_MAX_ATTEMPTS: '50',
  ACTA_CANCEL_GRACE_MS: '1000',
  ACTA_PUSH_ALLOW_PRIVATE: 'true',
  ACTA_PUSH_TIMEOUT_MS: '1000',
};

/** Where a storm happens: a fresh database, and room for files. */
export interface Ground {
  readonly cluster: PostgresCluster;
  readonly database: string;
  /** Of the database, with nothing in between. */
  readonly url: string;
  readonly scratch: string;
  readonly onEndedByItself: (what: string) => void;
}

/**
 * A server that only accepts, one that also runs agents, and a worker, on one database; remote workers, who reach the
 * servers through a front; and a webhook.
 */
export class Fleet {
  private constructor(
    /** The processes of Acta. */
    readonly members: readonly ActaMember[],
    readonly remoteWorkers: readonly Member[],
    readonly webhook: Member,
    readonly front: ServerFront,
  ) {}

  static async start(ground: Ground, random: Random): Promise<Fleet> {
    const members = await Promise.all([
      actaMember(ground, 'server', 0),
      actaMember(ground, 'server', 8),
      actaMember(ground, 'worker', 16, {
        NODE_OPTIONS: `--import ${new URL('clock-steps-back.mjs', import.meta.url).href}`,
      }),
    ]);
    const front = await ServerFront.listen(() => urlsOf(members), random);
    const remoteWorkers = await remoteMembers(ground, front.url);
    const webhook = webhookMember(ground);
    const fleet = new Fleet(members, remoteWorkers, webhook, front);
    await Promise.all(fleet.all.map((each) => each.start()));
    return fleet;
  }

  get servers(): ActaMember[] {
    return serversOf(this.members);
  }

  get workers(): ActaMember[] {
    return this.members.filter(({ app }) => app === 'worker');
  }

  get executors(): ActaMember[] {
    return this.members.filter(({ runsAgents }) => runsAgents);
  }

  /** Addresses of the servers that are up. */
  get urls(): string[] {
    return urlsOf(this.members);
  }

  /** Everything runs and everything passes from here on. */
  async heal(): Promise<void> {
    this.front.loseNoMore();
    for (const { proxy } of this.members) {
      proxy.disarm();
      proxy.letGo();
    }
    // Whatever is still being done to a member ends with it up again.
    await Promise.all(this.all.map((member) => member.alone(async () => undefined)));
  }

  async stop(): Promise<string[]> {
    const wrong = await Promise.all(this.all.map((member) => member.alone(() => member.stop())));
    await this.front.close();
    return wrong.flat();
  }

  private get all(): Member[] {
    return [...this.members, ...this.remoteWorkers, this.webhook];
  }
}

const serversOf = (members: readonly ActaMember[]) => members.filter(({ app }) => app === 'server');
const urlsOf = (members: readonly ActaMember[]) => serversOf(members).flatMap(({ url }) => url ?? []);

async function actaMember(ground: Ground, app: 'server' | 'worker', runs: number, more: Environment = {}) {
  const { cluster, database, scratch, onEndedByItself } = ground;
  const proxy = await DatabaseProxy.listen(cluster.socket);
  const environment = {
    ...environmentFor(proxy.url(cluster.user, database), await mkdtemp(join(scratch, 'data-'))),
    ...ENVIRONMENT,
    ...(app === 'server' ? { PORT: '0' } : {}),
    ACTA_WORKER_CONCURRENCY: String(runs),
    ...more,
  };
  const launch = () => new ActaProcess(app, environment);
  return new ActaMember(app, runs > 0, proxy, launch, onEndedByItself);
}

async function remoteMembers({ url, onEndedByItself }: Ground, serverUrl: string): Promise<Member[]> {
  const view = new DatabaseView(url);
  try {
    const members: Member[] = [];
    for (let nth = 1; nth <= REMOTE_WORKERS; nth += 1) {
      const subject = `afar-${nth}`;
      const token = await view.createKey({ subject, role: 'worker', agents: ['afar'] });
      const launch = () => ownProgram('remote-worker.ts', { SERVER_URL: serverUrl, WORKER_TOKEN: token });
      const ready = /^a remote worker asks for work$/m;
      const holder = () => `remote:${subject}`;
      members.push(new Member({ name: 'remote worker', launch, ready, holder }, onEndedByItself));
    }
    return members;
  } finally {
    await view.close();
  }
}

/** It comes back where it was: tasks know its address. */
function webhookMember({ onEndedByItself }: Ground): Member {
  const launch = (before: string | null) =>
    ownProgram('webhook.ts', { PORT: before === null ? '0' : new URL(before).port });
  const program = { name: 'webhook', launch, ready: /^a webhook listens on (\S+)$/m, holder: () => '' };
  return new Member(program, onEndedByItself);
}
