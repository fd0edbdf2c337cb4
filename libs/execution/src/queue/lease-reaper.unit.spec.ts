import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { Database } from '@app/storage';
import type { TaskWriter } from '@app/tasks';
import { LeaseReaper } from './lease-reaper.js';
import type { RunQueue } from './run-queue.js';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

it('keeps to one sweep while the database hangs, and waits for it when it is stopped', async () => {
  let sweeps = 0;
  let answer = () => {};
  const transaction = () => {
    sweeps += 1;
    return new Promise((resolve) => (answer = () => resolve({ found: 0, appended: [] })));
  };
  const reaper = new LeaseReaper(
    { transaction } as unknown as Database,
    {} as TaskWriter,
    {} as RunQueue,
    () => ({ attempts: 1, backoffMs: 1 }),
    () => undefined,
    10,
  );
  reaper.start();
  await jest.advanceTimersByTimeAsync(1_000);
  expect(sweeps).toBe(1);

  let stopped = false;
  const stopping = reaper.stop().then(() => (stopped = true));
  await jest.advanceTimersByTimeAsync(1_000);
  expect(stopped).toBe(false);
  // Each sweep asks twice: for leases, and for cancels.
  answer();
  await jest.advanceTimersByTimeAsync(0);
  answer();
  await stopping;
  expect(sweeps).toBe(2);
});
