import { fileURLToPath } from 'node:url';
import { createDataDir, type Environment, NodeProcess } from './acta-process.js';

export interface UpstreamSetup {
  readonly VERSION?: '1.0' | '0.3';
  readonly STREAMING?: 'true' | 'false';
  /** URL in its agent card; default: its own. */
  readonly CARD_URL?: string;
}

interface UpstreamState {
  readonly tasks: readonly { readonly id: string; readonly contextId: string; readonly status: { state: number } }[];
  /** Every execution that it has started, in order. */
  readonly calls: readonly { readonly taskId: string; readonly messageId: string }[];
}

const SCRIPT = fileURLToPath(new URL('upstream-server.mjs', import.meta.url));

/** An upstream agent on the server of the official SDK, in a separate process. */
export class Upstream {
  private constructor(
    private process: NodeProcess,
    readonly url: string,
    private readonly env: Environment,
  ) {}

  static async start(setup: UpstreamSetup = {}): Promise<Upstream> {
    const env = { ...setup, DATA_DIR: await createDataDir() };
    const { process, url } = await launch(env);
    return new Upstream(process, url, { ...env, PORT: new URL(url).port });
  }

  async kill(): Promise<void> {
    this.process.kill('SIGKILL');
    await this.process.exited;
  }

  /** Starts it again on the same port and data. */
  async restart(): Promise<void> {
    ({ process: this.process } = await launch(this.env));
  }

  async state(): Promise<UpstreamState> {
    return (await (await fetch(new URL('state', this.url))).json()) as UpstreamState;
  }
}

async function launch(env: Environment): Promise<{ process: NodeProcess; url: string }> {
  const process = new NodeProcess([SCRIPT], env);
  const [url] = await process.waitForOutput(/^http:\S+$/m);
  return { process, url };
}
