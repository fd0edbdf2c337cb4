import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Environment, NodeProcess } from '../../support/processes/acta-process.js';
import type { DatabaseProxy } from './database-proxy.js';

const START_MS = 120_000;

/** What a member runs. */
export interface Program {
  readonly name: string;
  /** Starts it; `before` is where it answered the last time, null at first. */
  readonly launch: (before: string | null) => NodeProcess;
  /** What it prints once it is up; the first group is where it answers, if it does. */
  readonly ready: RegExp;
  /** What matches its name at the runs that it holds, for `like`. */
  readonly holder: (pid: number) => string;
  /** Does away with what would make the next start fail as well. */
  readonly startFailed?: () => void;
}

/** One process of a storm. It is up, unless something is being done to it. */
export class Member {
  /** Where it answers; null while it is down, and for what answers nobody. */
  url: string | null = null;
  private process: NodeProcess | null = null;
  private readonly processes: NodeProcess[] = [];
  private lastUrl: string | null = null;
  private expected = true;
  private turn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly program: Program,
    private readonly onEndedByItself: (what: string) => void,
  ) {}

  get holder(): string {
    return this.program.holder(this.process!.pid);
  }

  /** Everything that it has said so far, in all its lives, as objects of JSON on lines of their own. */
  reports<T>(): T[] {
    return this.processes.flatMap(({ logs }) => {
      const lines = logs.slice(0, logs.lastIndexOf('\n') + 1).split('\n');
      return lines.filter((line) => line.startsWith('{"')).map((line) => JSON.parse(line) as T);
    });
  }

  /** What happens to one member happens one after the other. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.turn.then(work);
    this.turn = done.catch(() => undefined);
    return done;
  }

  /** Starts it, again and again while the database is away. */
  async start(): Promise<void> {
    const { name, launch, ready, startFailed } = this.program;
    const deadline = Date.now() + START_MS;
    for (;;) {
      const process = launch(this.lastUrl);
      try {
        const [, url] = await process.prints(ready);
        this.process = process;
        this.processes.push(process);
        this.url = this.lastUrl = url ?? null;
        this.expected = false;
        void process.exited.then(({ code, signal }) => {
          if (this.process !== process) return;
          this.url = null;
          if (this.expected) return;
          this.onEndedByItself(`a ${name} ended by itself (${signal ?? code}): ${process.logs.slice(-2_000)}`);
          this.alone(() => this.start()).catch((error: unknown) =>
            this.onEndedByItself(`a ${name} stays away: ${String(error)}`),
          );
        });
        return;
      } catch (error) {
        process.kill('SIGKILL');
        startFailed?.();
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
    if (exit !== 'late' && exit.code === 0) return [];
    return [
      `a ${this.program.name} did not stop in good order (${exit === 'late' ? exit : (exit.signal ?? exit.code)}): ${this.process!.logs.slice(-2_000)}`,
    ];
  }
}

/** One process of Acta with a line of its own to Postgres. */
export class ActaMember extends Member {
  constructor(
    readonly app: 'server' | 'worker',
    readonly runsAgents: boolean,
    readonly proxy: DatabaseProxy,
    launch: () => NodeProcess,
    onEndedByItself: (what: string) => void,
  ) {
    const ready = /^Acta (?:listens on (\S+)|worker .+)$/m;
    const holder = (pid: number) => `%:${pid}:%`;
    // Cuts that are still to come would each cost it a start, and a busy machine has no time for many.
    const startFailed = () => proxy.disarm();
    super({ name: app, launch, ready, holder, startFailed }, onEndedByItself);
  }

  override async stop(): Promise<string[]> {
    const wrong = await super.stop();
    await this.proxy.close();
    return wrong;
  }
}

/** Starts a program of this folder, in TypeScript as it stands. */
export const ownProgram = (file: string, env: Environment): NodeProcess =>
  new NodeProcess(
    ['--no-warnings', '--enable-source-maps', '--import', here('typescript.mjs').href, fileURLToPath(here(file))],
    env,
  );

const here = (file: string) => new URL(file, import.meta.url);
