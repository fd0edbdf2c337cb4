import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { promisify } from 'node:util';

/** Returns the resident memory of a process in bytes, as the system counts it; null if the system cannot tell. */
export async function residentBytes(pid: number): Promise<number | null> {
  try {
    if (process.platform === 'win32') return null;
    if (process.platform !== 'linux') return kibibytes((await run('ps', ['-o', 'rss=', '-p', String(pid)])).stdout);
    return kibibytes(/^VmRSS:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    // The process has ended meanwhile.
    return null;
  }
}

const run = promisify(execFile);

const kibibytes = (text = ''): number | null => (Number(text) > 0 ? Number(text) * 1024 : null);

/** Lets other processes run first, as long as they need the CPU. It cannot be undone without privileges. */
export function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // The process has ended meanwhile.
  }
}

/** The processes that have not ended, by id. */
const live = new Set<number>();
let killsAtExit = false;

/** Kills the process groups that are left when this process exits by itself. */
export function killAtExit(pid: number): void {
  live.add(pid);
  if (killsAtExit) return;
  killsAtExit = true;
  process.on('exit', () => live.forEach(killGroup));
}

/** Kills what an ended process has left in its group. */
export function forget(pid: number): void {
  live.delete(pid);
  killGroup(pid);
}

/** Kills a process with all processes that it has started, unless they left its group. */
export function killGroup(pid: number): void {
  try {
    // Windows has no process groups.
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch {
    // Nothing of the group is left.
  }
}
