import { setTimeout as sleep } from 'node:timers/promises';
import { ClientFailure } from '@app/client';
import { backoffMs, type BackoffPolicy } from '@app/domain';

export interface UnreachablePolicy extends BackoffPolicy {
  /** How long an unreachable agent is retried in one run. After that the run is retried as a further attempt. */
  readonly giveUpAfterMs: number;
}

/**
 * Repeats work while the upstream agent is unreachable, with exponential backoff. When `changeCount` has increased, the
 * backoff and the time limit start again. Throws the last failure after the time limit, or the reason of the signal.
 */
export async function retryWhileUnreachable<T>(
  work: () => Promise<T>,
  policy: UnreachablePolicy,
  changeCount: () => number,
  signal: AbortSignal,
): Promise<T> {
  let changes = changeCount();
  let giveUpAt = Infinity;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      if (!ClientFailure.is(error, 'unreachable')) throw error;
      if (changeCount() > changes) {
        changes = changeCount();
        giveUpAt = Infinity;
        attempt = 1;
      }
      giveUpAt = Math.min(giveUpAt, performance.now() + policy.giveUpAfterMs);
      const wait = backoffMs(attempt, policy, Math.random());
      if (performance.now() + wait > giveUpAt) throw error;
      await sleep(wait, undefined, { signal });
    }
  }
}
