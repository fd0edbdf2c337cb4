import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Environment } from './acta-process.js';

export interface Finished {
  /** -1: it was still running after a minute. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const ENTRY = fileURLToPath(new URL('../../../dist/apps/cli/src/main.js', import.meta.url));

/** One command line from start to end, in an environment that holds nothing else. */
export function runActa(env: Environment, ...args: string[]): Promise<Finished> {
  if (!existsSync(ENTRY)) throw new Error(`${ENTRY} is missing: run \`npm run build\` before the end-to-end tests`);
  const { PATH, HOME } = process.env;
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [ENTRY, ...args],
      { env: { PATH, HOME, ...env }, timeout: 60_000 },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
        resolve({ code, stdout, stderr });
      },
    );
  });
}
