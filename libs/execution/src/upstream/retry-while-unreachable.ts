import { setTimeout as sleep } from 'node:timers/promises';
import { ClientFailure } from '@app/client';

export interface PatienceTiming {
  /** How long an agent that does not answer is tried again, before the run is given up for another attempt. */
  readonly patienceMs: number;
  /** The first wait before it is asked again; each later one is twice the one before, up to `maxWaitMs`. */
  readonly waitMs: number;
  readonly maxWaitMs: number;
}

/**
 * Does it again for as long as the agent cannot be reached, within the patience for it, which starts anew with every
 * news. Throws the last failure, or the signal's reason.
 */
export async function patiently<T>(
  work: () => Promise<T>,
  { patienceMs, waitMs, maxWaitMs }: PatienceTiming,
  news: () => number,
  signal: AbortSignal,
): Promise<T> {
  let heard = news();
  let giveUpAt = Infinity;
  for (let wait = waitMs; ; wait = Math.min(wait * 2, maxWaitMs)) {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      if (!ClientFailure.is(error, 'unreachable')) throw error;
      if (news() > heard) {
        heard = news();
        giveUpAt = Infinity;
        wait = waitMs;
      }
      giveUpAt = Math.min(giveUpAt, performance.now() + patienceMs);
      if (performance.now() + wait > giveUpAt) throw error;
      await sleep(wait / 2 + (wait / 2) * Math.random(), undefined, { signal });
    }
  }
}
