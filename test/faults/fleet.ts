import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ActaProcess, type Environment } from '../support/acta-process.js';
import { environmentFor } from '../support/start-server.js';
import { DatabaseProxy } from './database-proxy.js';
import type { PostgresCluster } from './postgres-cluster.js';

export const LEASE_MS = 1_500;
const START_MS = 120_000;
const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));

const ENVIRONMENT: Environment = {
  ACTA_AGENTS: here('storm.agent.mjs'),
  ACTA_LEASE_MS: String(LEASE_MS),
  ACTA_MAX_ATTEMPTS: '50',
  ACTA_CANCEL_GRACE_MS: '1000',
};

/** One process of Acta with a line of its own to Postgres. */
export class Member {
  /** Where it answers; null while it is down, and for a worker. */
  url: string | null = null;
  private process: ActaProcess | null = null;
  private expected = true;
  private turn: Promise<unknown> = Promise.resolve();

  constructor(
    readonly app: 'server' | 'worker',
    readonly runsAgents: boolean,
    readonly proxy: DatabaseProxy,
    private readonly environment: Environment,
    private readonly onEndedByItself: (what: string) => void,
  ) {}

  get pid(): number {
    return this.process!.pid;
  }

  /** What happens to one member happens one after the other. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.turn.then(work);
    this.turn = done.catch(() => undefined);
    return done;
  }

  /** Starts it, again and again while the database is away. */
  async start(): Promise<void> {
    const deadline = Date.now() + START_MS;
    for (;;) {
      const process = new ActaProcess(this.app, this.environment);
      try {
        const [, url] = await process.prints(/^Acta (?:listens on (\S+)|worker .+)$/m);
        this.process = process;
        this.url = url ?? null;
        this.expected = false;
        void process.exited.then(({ code, signal }) => {
          if (this.process !== process) return;
          this.url = null;
          if (this.expected) return;
          this.onEndedByItself(`a ${this.app} ended by itself (${signal ?? code}): ${process.logs.slice(-2_000)}`);
          void this.alone(() => this.start());
        });
        return;
      } catch (error) {
        process.kill('SIGKILL');
        if (Date.now() > deadline) throw error;
        await delay(100);
      }
    }
  }

  /** `kill -9`. */
  async crash(): Promise<void> {
    this.expected = true;
    this.url = null;
    this.process!.kill('SIGKILL');
    await this.process!.exited;
  }

  signal(signal: NodeJS.Signals): void {
    this.process!.kill(signal);
  }

  /** Ends as an operator ends it; says what was wrong with that. */
  async stop(): Promise<string[]> {
    this.expected = true;
    const late = delay(20_000, 'late' as const, { ref: false });
    this.signal('SIGTERM');
    const exit = await Promise.race([this.process!.exited, late]);
    if (exit === 'late') this.signal('SIGKILL');
    await this.process!.exited;
    await this.proxy.close();
    if (exit !== 'late' && exit.code === 0) return [];
    return [
      `a ${this.app} did not stop in good order (${exit === 'late' ? exit : (exit.signal ?? exit.code)}): ${this.process!.logs.slice(-2_000)}`,
    ];
  }
}

/** A server that only accepts, one that also runs agents, and a worker, on one database. */
export class Fleet {
  private constructor(readonly members: readonly Member[]) {}

  static async start(
    cluster: PostgresCluster,
    database: string,
    scratch: string,
    onEndedByItself: (what: string) => void,
  ): Promise<Fleet> {
    const member = async (app: 'server' | 'worker', runs: number, more: Environment = {}) => {
      const proxy = await DatabaseProxy.listen(cluster.socket);
      const environment = {
        ...environmentFor(proxy.url(cluster.user, database), await mkdtemp(join(scratch, 'data-'))),
        ...ENVIRONMENT,
        ...(app === 'server' ? { PORT: '0' } : {}),
        ACTA_WORKER_CONCURRENCY: String(runs),
        ...more,
      };
      return new Member(app, runs > 0, proxy, environment, onEndedByItself);
    };
    const members = await Promise.all([
      member('server', 0),
      member('server', 8),
      member('worker', 16, { NODE_OPTIONS: `--import ${new URL('clock-steps-back.mjs', import.meta.url).href}` }),
    ]);
    await Promise.all(members.map((each) => each.start()));
    return new Fleet(members);
  }

  get servers(): Member[] {
    return this.members.filter(({ app }) => app === 'server');
  }

  get workers(): Member[] {
    return this.members.filter(({ app }) => app === 'worker');
  }

  get executors(): Member[] {
    return this.members.filter(({ runsAgents }) => runsAgents);
  }

  /** Addresses of the servers that are up. */
  get urls(): string[] {
    return this.members.flatMap(({ url }) => url ?? []);
  }

  /** Everything runs and everything passes from here on. */
  async heal(): Promise<void> {
    for (const { proxy } of this.members) {
      proxy.disarm();
      proxy.letGo();
    }
    // Whatever is still being done to a member ends with it up again.
    await Promise.all(this.members.map((member) => member.alone(async () => undefined)));
  }

  async stop(): Promise<string[]> {
    return (await Promise.all(this.members.map((member) => member.alone(() => member.stop())))).flat();
  }
}
