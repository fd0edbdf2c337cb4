import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export type Environment = Record<string, string | undefined>;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const OUTPUT_TIMEOUT_MS = 60_000;

const running = new Set<ChildProcess>();
const killAll = () => running.forEach((child) => child.kill('SIGKILL'));
// Covers a test that failed before it stopped its processes, and an abort of Jest.
process.on('exit', killAll);
// The fault suite starts processes without Jest.
(globalThis as { afterAll?: (run: () => void) => void }).afterAll?.(killAll);

/** A Node process whose output and exit a test can observe. */
export class NodeProcess {
  readonly exited: Promise<Exit>;
  private readonly child: ChildProcess;
  private readonly chunks: string[] = [];
  private waiters: (() => void)[] = [];
  private exit: Exit | null = null;

  constructor(args: readonly string[], env: Environment) {
    this.child = spawn(process.execPath, args, {
      env: { ...inheritedEnvironment(), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(this.child);
    this.exited = new Promise((resolve) => {
      this.child.once('close', (code, signal) => {
        running.delete(this.child);
        this.exit = { code, signal };
        resolve(this.exit);
        this.resolveWaiters();
      });
    });
    for (const stream of [this.child.stdout!, this.child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.chunks.push(text);
        this.resolveWaiters();
      });
    }
  }

  get pid(): number {
    return this.child.pid!;
  }

  /** Bytes of the process that are in memory now. */
  get residentBytes(): number {
    return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(this.pid)], { encoding: 'utf8' })) * 1024;
  }

  /** Everything that the process has printed on stdout and stderr. */
  get output(): string {
    return this.chunks.join('');
  }

  /** Waits for the first match in the output. Throws with the output if the process exits, or after 60 s. */
  async waitForOutput(pattern: RegExp): Promise<RegExpExecArray> {
    const deadline = Date.now() + OUTPUT_TIMEOUT_MS;
    for (;;) {
      const match = pattern.exec(this.output);
      if (match !== null) return match;
      if (this.exit !== null || Date.now() > deadline) {
        throw new Error(
          `the process ${this.exit ? 'exited' : 'still runs after 60 s'} without the output ${pattern}:\n${this.output}`,
        );
      }
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.waiters.push(resolve);
        timer = setTimeout(resolve, deadline - Date.now());
      });
      clearTimeout(timer);
    }
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Sends SIGTERM and waits for the exit. */
  async stop(): Promise<Exit> {
    this.kill('SIGTERM');
    return this.exited;
  }

  private resolveWaiters(): void {
    for (const resolve of this.waiters.splice(0)) resolve();
  }
}

/** A process of the built Acta. */
export class ActaProcess extends NodeProcess {
  constructor(app: 'server' | 'worker' | 'cli', env: Environment, args: readonly string[] = []) {
    super([entryOf(app), ...args], env);
  }
}

/** Creates a data directory. The global teardown removes it, and stops a Postgres that still runs in it. */
export function createDataDir(): Promise<string> {
  const [run] = (process.env['ACTA_TEST_RUN'] ?? '').split('_');
  return mkdtemp(join(tmpdir(), `acta-test-${run}-e2e-`));
}

/** Returns the path of a built program. Throws if it is missing. */
export function entryOf(app: 'server' | 'worker' | 'cli'): string {
  const entry = fileURLToPath(new URL(`../../../dist/apps/${app}/src/main.js`, import.meta.url));
  if (!existsSync(entry)) throw new Error(`${entry} is missing: run \`npm run build\` before the end-to-end tests`);
  return entry;
}

/** Returns the environment of this process without the variables that configure Acta or Postgres. */
function inheritedEnvironment(): Environment {
  const configuration = /^(ACTA_.*|(TEST_)?DATABASE_URL|HOST|PORT|LOG_LEVEL|PG.*)$/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !configuration.test(name)));
}
