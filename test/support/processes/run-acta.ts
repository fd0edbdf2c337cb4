import { execFile } from 'node:child_process';
import { entryOf, type Environment } from './acta-process.js';

export interface ActaResult {
  /** -1 if the command did not exit within 60 s. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs one command line. Its environment contains only `env`, PATH and HOME. */
export function runActa(env: Environment, ...args: string[]): Promise<ActaResult> {
  const { PATH, HOME } = process.env;
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [entryOf('cli'), ...args],
      { env: { PATH, HOME, ...env }, timeout: 60_000 },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
        resolve({ code, stdout, stderr });
      },
    );
  });
}
