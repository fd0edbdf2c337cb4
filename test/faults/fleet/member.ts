import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Environment, NodeProcess } from '../../support/processes/acta-process.js';
import type { DatabaseProxy } from './database-proxy.js';

const LOADER = new URL('../typescript-loader.mjs', import.meta.url).href;
const START_MS = 120_000;
const STOP_MS = 20_000;

/** The program that a member runs. */
export interface Program {
  readonly name: string;
  /** Starts the program. `lastUrl` is its URL before a restart, null at first. */
  readonly launch: (lastUrl: string | null) => NodeProcess;
  /** Matches the output of the program when it is ready. The first group is its URL, if it has one. */
  readonly readyLine: RegExp;
  /** Returns a `like` pattern of the worker names in the leases of the process. */
  readonly workerPattern: (pid: number) => string;
  /** Removes the faults that would make the next start fail, too. */
  readonly onStartFailed?: () => void;
}

/** One process of a storm. It is up, except during a fault. */
export class Member {
  /** The URL; null while the process is down, and for a program without a URL. */
  url: string | null = null;
  private process: NodeProcess | null = null;
  private readonly processes: NodeProcess[] = [];
  private lastUrl: string | null = null;
  private isExitExpected = true;
  private queue: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly program: Program,
    private readonly onUnexpectedExit: (problem: string) => void,
  ) {}

  get workerPattern(): string {
    return this.program.workerPattern(this.process!.pid);
  }

  /** Returns the JSON lines that all its processes have printed so far. */
  reports<T>(): T[] {
    return this.processes.flatMap(({ output: logs }) => {
      const lines = logs.slice(0, logs.lastIndexOf('\n') + 1).split('\n');
      return lines.filter((line) => line.startsWith('{"')).map((line) => JSON.parse(line) as T);
    });
  }

  /** Runs the work after all earlier work on this member. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    const done = this.queue.then(work);
    this.queue = done.catch(() => undefined);
    return done;
  }

  /** Starts the process, and repeats that while the database is unreachable. */
  async start(): Promise<void> {
    const { name, launch, readyLine, onStartFailed } = this.program;
    const deadline = Date.now() + START_MS;
    for (;;) {
      const process = launch(this.lastUrl);
      try {
        const [, url] = await process.waitForOutput(readyLine);
        this.process = process;
        this.processes.push(process);
        this.url = this.lastUrl = url ?? null;
        this.isExitExpected = false;
        void process.exited.then(({ code, signal }) => {
          if (this.process !== process) return;
          this.url = null;
          if (this.isExitExpected) return;
          this.onUnexpectedExit(`the ${name} ended unexpectedly (${signal ?? code}): ${process.output.slice(-2_000)}`);
          this.exclusively(() => this.start()).catch((error: unknown) =>
            this.onUnexpectedExit(`the ${name} did not restart: ${String(error)}`),
          );
        });
        return;
      } catch (error) {
        process.kill('SIGKILL');
        onStartFailed?.();
        if (Date.now() > deadline) throw error;
        await delay(100);
      }
    }
  }

  /** Kills the process with `kill -9`. */
  async crash(): Promise<void> {
    this.isExitExpected = true;
    this.url = null;
    this.process!.kill('SIGKILL');
    await this.process!.exited;
  }

  signal(signal: NodeJS.Signals): void {
    this.process!.kill(signal);
  }

  /** Stops the process with SIGTERM and returns what went wrong. */
  async stop(): Promise<string[]> {
    this.isExitExpected = true;
    const timeout = delay(STOP_MS, 'timeout' as const, { ref: false });
    this.signal('SIGTERM');
    const exit = await Promise.race([this.process!.exited, timeout]);
    if (exit === 'timeout') this.signal('SIGKILL');
    await this.process!.exited;
    if (exit !== 'timeout' && exit.code === 0) return [];
    const outcome = exit === 'timeout' ? exit : (exit.signal ?? exit.code);
    return [`the ${this.program.name} did not stop cleanly (${outcome}): ${this.process!.output.slice(-2_000)}`];
  }
}

/** A server or worker of Acta, with its own proxy to Postgres. */
export class ActaMember extends Member {
  constructor(
    readonly app: 'server' | 'worker',
    readonly runsAgents: boolean,
    readonly proxy: DatabaseProxy,
    launch: () => NodeProcess,
    onUnexpectedExit: (problem: string) => void,
  ) {
    const readyLine = /^Acta (?:listens on (\S+)|worker .+)$/m;
    const workerPattern = (pid: number) => `%:${pid}:%`;
    // Each remaining cut could fail one more start, and a start is slow on a busy machine.
    const onStartFailed = () => proxy.disarm();
    super({ name: app, launch, readyLine, workerPattern, onStartFailed }, onUnexpectedExit);
  }

  override async stop(): Promise<string[]> {
    const problems = await super.stop();
    await this.proxy.close();
    return problems;
  }
}

/** Starts a TypeScript program of `test/faults/load`. */
export function startProgram(file: string, env: Environment): NodeProcess {
  const program = fileURLToPath(new URL(`../load/${file}`, import.meta.url));
  return new NodeProcess(['--no-warnings', '--enable-source-maps', '--import', LOADER, program], env);
}
