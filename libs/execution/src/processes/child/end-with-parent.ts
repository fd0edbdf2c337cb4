import { Worker } from 'node:worker_threads';

const POLL_MS = 250;

/**
 * Kills this process and what it has started when its parent has ended. It runs in a thread, because the code of an agent may
 * block the main thread, which then does not see the end of the pipe.
 */
export function endWith(parent: number): void {
  const group = process.platform === 'win32' ? process.pid : -process.pid;
  const watcher = new Worker(WATCH, {
    eval: true,
    workerData: { parent, group, pollMs: POLL_MS },
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 2 },
  });
  watcher.unref();
}

const WATCH = `
const { workerData: { parent, group, pollMs } } = require('node:worker_threads');
const check = () => {
  if (process.ppid === parent) return;
  try { process.kill(group, 'SIGKILL'); } finally { process.kill(process.pid, 'SIGKILL'); }
};
setInterval(check, pollMs);
check();
`;
