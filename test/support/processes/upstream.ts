import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll } from '@jest/globals';
import { createDataDir } from './acta-process.js';

export interface UpstreamSetup {
  readonly VERSION?: '1.0' | '0.3';
  readonly STREAMING?: 'true' | 'false';
  /** The address that its card names, instead of its own. */
  readonly NAMES?: string;
}

interface UpstreamState {
  readonly tasks: readonly { readonly id: string; readonly contextId: string; readonly status: { state: number } }[];
  /** Every execution that it has begun. */
  readonly calls: readonly { readonly taskId: string; readonly messageId: string }[];
}

const living = new Set<ChildProcess>();
const killAll = () => living.forEach((child) => child.kill('SIGKILL'));
process.on('exit', killAll);
afterAll(killAll);

/** The official SDK's server in a process of its own, as an agent that someone else runs. */
export class Upstream {
  private constructor(
    private child: ChildProcess,
    readonly url: string,
    private readonly env: NodeJS.ProcessEnv,
  ) {}

  static async start(setup: UpstreamSetup = {}): Promise<Upstream> {
    const env = { ...setup, DATA_DIR: await createDataDir() };
    const { child, url } = await launch(env);
    return new Upstream(child, url, { ...env, PORT: new URL(url).port });
  }

  async kill(): Promise<void> {
    const exited = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exited;
  }

  /** Starts it again where it was. */
  async restart(): Promise<void> {
    ({ child: this.child } = await launch(this.env));
  }

  async state(): Promise<UpstreamState> {
    return (await (await fetch(new URL('state', this.url))).json()) as UpstreamState;
  }
}

async function launch(env: NodeJS.ProcessEnv): Promise<{ child: ChildProcess; url: string }> {
  const script = fileURLToPath(new URL('upstream-server.mjs', import.meta.url));
  const child = spawn(process.execPath, [script], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  living.add(child);
  child.once('exit', () => living.delete(child));
  let said = '';
  const url = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        if (said.length < 10_000) said += text;
        const match = /^http:\S+$/m.exec(said);
        if (match !== null) resolve(match[0]);
      });
    }
    child.once('exit', () => reject(new Error(`the upstream agent ended: ${said}`)));
  });
  return { child, url };
}
