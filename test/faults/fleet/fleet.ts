import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ActaProcess, type Environment } from '../../support/processes/acta-process.js';
import { DatabaseView } from '../../support/database/database-view.js';
import { environmentFor } from '../../support/processes/start-server.js';
import { DatabaseProxy } from './database-proxy.js';
import { ActaMember, Member, startProgram } from './member.js';
import type { PostgresCluster } from './postgres-cluster.js';
import type { Random } from '../load/random.js';
import { LoadBalancer } from './load-balancer.js';

export const LEASE_MS = 1_500;
const API_WORKERS = 2;
/** The agent that only API workers execute. */
export const API_WORKER_AGENT = 'worker-api';

const agentFile = (name: string) => fileURLToPath(new URL(`../agents/${name}.agent.mjs`, import.meta.url));

const ENVIRONMENT: Environment = {
  ACTA_AGENTS: [agentFile('storm'), agentFile(API_WORKER_AGENT)].join(),
  ACTA_LEASE_MS: String(LEASE_MS),
  ACTA_MAX_ATTEMPTS: '50',
  ACTA_CANCEL_GRACE_MS: '1000',
  ACTA_PUSH_ALLOW_PRIVATE: 'true',
  ACTA_PUSH_TIMEOUT_MS: '1000',
};

/** The resources of one storm: a new database and a folder for files. */
export interface StormEnvironment {
  readonly cluster: PostgresCluster;
  readonly database: string;
  /** The URL of the database, without a proxy. */
  readonly url: string;
  readonly scratch: string;
  readonly onUnexpectedExit: (problem: string) => void;
}

/**
 * The processes of one storm: a server without runs, a server with runs and a worker, on one database; API workers, which
 * reach the servers through a load balancer; and a webhook.
 */
export class Fleet {
  private constructor(
    /** The servers and the worker. */
    readonly members: readonly ActaMember[],
    readonly apiWorkers: readonly Member[],
    readonly webhook: Member,
    readonly loadBalancer: LoadBalancer,
  ) {}

  static async start(environment: StormEnvironment, random: Random): Promise<Fleet> {
    const members = await Promise.all([
      actaMember(environment, 'server', 0),
      actaMember(environment, 'server', 8),
      actaMember(environment, 'worker', 16, {
        NODE_OPTIONS: `--import ${new URL('clock-steps-back.mjs', import.meta.url).href}`,
      }),
    ]);
    const loadBalancer = await LoadBalancer.listen(() => urlsOf(members), random);
    const apiWorkers = await apiWorkerMembers(environment, loadBalancer.url);
    const webhook = webhookMember(environment);
    const fleet = new Fleet(members, apiWorkers, webhook, loadBalancer);
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

  /** The URLs of the servers that are up. */
  get urls(): string[] {
    return urlsOf(this.members);
  }

  /** Ends all faults: every process runs, and all traffic passes. */
  async heal(): Promise<void> {
    this.loadBalancer.stopDropping();
    for (const { proxy } of this.members) {
      proxy.disarm();
      proxy.resume();
    }
    // The last fault of each member ends before this, with the member up again.
    await Promise.all(this.all.map((member) => member.exclusively(async () => undefined)));
  }

  /** Stops every process and returns what went wrong. */
  async stop(): Promise<string[]> {
    const problems = await Promise.all(this.all.map((member) => member.exclusively(() => member.stop())));
    await this.loadBalancer.close();
    return problems.flat();
  }

  private get all(): Member[] {
    return [...this.members, ...this.apiWorkers, this.webhook];
  }
}

const serversOf = (members: readonly ActaMember[]) => members.filter(({ app }) => app === 'server');
const urlsOf = (members: readonly ActaMember[]) => serversOf(members).flatMap(({ url }) => url ?? []);

async function actaMember(storm: StormEnvironment, app: 'server' | 'worker', runs: number, extra: Environment = {}) {
  const { cluster, database, scratch, onUnexpectedExit } = storm;
  const proxy = await DatabaseProxy.listen(cluster.socket);
  const environment = {
    ...environmentFor(proxy.url(cluster.user, database), await mkdtemp(join(scratch, 'data-'))),
    ...ENVIRONMENT,
    ...(app === 'server' ? { PORT: '0' } : {}),
    ACTA_WORKER_CONCURRENCY: String(runs),
    ...extra,
  };
  const launch = () => new ActaProcess(app, environment);
  return new ActaMember(app, runs > 0, proxy, launch, onUnexpectedExit);
}

async function apiWorkerMembers({ url, onUnexpectedExit }: StormEnvironment, serverUrl: string): Promise<Member[]> {
  const view = new DatabaseView(url);
  try {
    const members: Member[] = [];
    for (let nth = 1; nth <= API_WORKERS; nth += 1) {
      const subject = `api-worker-${nth}`;
      const token = await view.createKey({ subject, role: 'worker', agents: [API_WORKER_AGENT] });
      const launch = () => startProgram('worker.program.ts', { SERVER_URL: serverUrl, WORKER_TOKEN: token });
      const readyLine = /^the worker claims runs$/m;
      const workerPattern = () => `%:${subject}`;
      members.push(new Member({ name: 'API worker', launch, readyLine, workerPattern }, onUnexpectedExit));
    }
    return members;
  } finally {
    await view.close();
  }
}

/** A restart uses the same port, because tasks contain the URL. */
function webhookMember({ onUnexpectedExit }: StormEnvironment): Member {
  const launch = (lastUrl: string | null) =>
    startProgram('webhook-receiver.program.ts', { PORT: lastUrl === null ? '0' : new URL(lastUrl).port });
  const program = { name: 'webhook', launch, readyLine: /^the webhook listens on (\S+)$/m, workerPattern: () => '' };
  return new Member(program, onUnexpectedExit);
}
