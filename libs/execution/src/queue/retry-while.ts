import { setTimeout as sleep } from 'node:timers/promises';

const RETRY_INTERVAL_MS = 50;

/** Repeats work every 50 ms until it succeeds. Throws the first error for which `mayRetry` returns false. */
export async function retryWhile<T>(mayRetry: (error: unknown) => boolean, work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!mayRetry(error)) throw error;
      await sleep(RETRY_INTERVAL_MS);
    }
  }
}
