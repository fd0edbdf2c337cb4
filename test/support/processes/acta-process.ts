import { type ChildProcess, spawn } from 'node:child_process';
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

const START_MS = 60_000;

const living = new Set<ChildProcess>();
const killAll = () => living.forEach((child) => child.kill('SIGKILL'));
// Also when a test failed before it could stop what it had started, or when Jest itself gives up.
process.on('exit', killAll);
// The fault suite starts processes without Jest.
(globalThis as { afterAll?: (run: () => void) => void }).afterAll?.(killAll);

/** One process of Node, of which a test sees what it prints and how it ends. */
export class NodeProcess {
  readonly exited: Promise<Exit>;
  private readonly child: ChildProcess;
  private readonly output: string[] = [];
  private heard: (() => void)[] = [];
  private over: Exit | null = null;

  constructor(args: readonly string[], env: Environment) {
    this.child = spawn(process.execPath, args, {
      env: { ...outerEnvironment(), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    living.add(this.child);
    this.exited = new Promise((resolve) => {
      this.child.once('close', (code, signal) => {
        living.delete(this.child);
        this.over = { code, signal };
        resolve(this.over);
        this.wake();
      });
    });
    for (const stream of [this.child.stdout!, this.child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.output.push(text);
        this.wake();
      });
    }
  }

  get pid(): number {
    return this.child.pid!;
  }

  /** Everything that it has printed so far. */
  get logs(): string {
    return this.output.join('');
  }

  /** The first match in what it prints. Throws with all that it printed when it ends, or takes a minute, without one. */
  async prints(pattern: RegExp): Promise<RegExpExecArray> {
    const deadline = Date.now() + START_MS;
    for (;;) {
      const match = pattern.exec(this.logs);
      if (match !== null) return match;
      if (this.over !== null || Date.now() > deadline) {
        throw new Error(`the process ${this.over ? 'ended' : 'hangs'} without printing ${pattern}:\n${this.logs}`);
      }
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.heard.push(resolve);
        timer = setTimeout(resolve, deadline - Date.now());
      });
      clearTimeout(timer);
    }
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Ends it as an operator would, and waits. */
  async stop(): Promise<Exit> {
    this.kill('SIGTERM');
    return this.exited;
  }

  private wake(): void {
    for (const resolve of this.heard.splice(0)) resolve();
  }
}

/** One process of Acta, built and started as an operator would. */
export class ActaProcess extends NodeProcess {
  constructor(app: 'server' | 'worker' | 'cli', env: Environment, args: readonly string[] = []) {
    super([entryOf(app), ...args], env);
  }
}

/** A folder for the data of one process or several; the end of the test run removes it, and stops a Postgres left in it. */
export function createDataDir(): Promise<string> {
  const [run] = (process.env['ACTA_TEST_RUN'] ?? '').split('_');
  return mkdtemp(join(tmpdir(), `acta-test-${run}-e2e-`));
}

function entryOf(app: string): string {
  const entry = fileURLToPath(new URL(`../../../dist/apps/${app}/src/main.js`, import.meta.url));
  if (!existsSync(entry)) throw new Error(`${entry} is missing: run \`npm run build\` before the end-to-end tests`);
  return entry;
}

/** The environment without what configures Acta: a test says all of that itself. */
function outerEnvironment(): Environment {
  const configures = /^(ACTA_.*|(TEST_)?DATABASE_URL|HOST|PORT|LOG_LEVEL|PG.*)$/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !configures.test(name)));
}
