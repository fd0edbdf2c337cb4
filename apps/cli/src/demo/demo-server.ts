import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

export interface DemoServer {
  readonly url: string;
  readonly token: string;
  stop(): Promise<void>;
}

const ENTRY = fileURLToPath(new URL('../../../server/src/main.js', import.meta.url));

/** Starts a server process on the data directory. It ignores the configuration of Acta in the environment. */
export async function startDemoServer(dataDir: string): Promise<DemoServer> {
  const unrelated = Object.entries(process.env).filter(([name]) => !/^(ACTA_.*|DATABASE_URL|HOST|PORT)$/.test(name));
  const child = spawn(process.execPath, [ENTRY], {
    env: { ...Object.fromEntries(unrelated), ACTA_DATA_DIR: dataDir, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const url = await new Promise<string>((resolve, reject) => {
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const address = /^Acta listens on (\S+)$/m.exec(output)?.[1];
      if (address !== undefined) resolve(address);
    });
    child.once('error', reject);
    void exited.then(() => reject(new Error(`the demo server did not start: ${output}`)));
  });
  return {
    url,
    token: (await readFile(`${dataDir}/token`, 'utf8')).trim(),
    stop: async () => {
      child.kill('SIGTERM');
      await exited;
    },
  };
}
