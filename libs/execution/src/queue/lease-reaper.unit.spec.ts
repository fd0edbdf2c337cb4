import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Database } from '@app/storage';
import type { TaskWriter } from '@app/tasks';
import type { Agents } from '../agents/agents.js';
import type { FailureLog } from '../execution-failure.js';
import type { ExecutionOptions } from '../execution-options.js';
import { LeaseReaper } from './lease-reaper.js';
import type { RunQueue } from './run-queue.js';

describe('LeaseReaper', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('starts no second sweep while the database hangs, and waits for the sweep when it stops', async () => {
    let transactions = 0;
    let finishTransaction = () => {};
    const transaction = () => {
      transactions += 1;
      return new Promise((resolve) => (finishTransaction = () => resolve({ locked: 0, applied: [] })));
    };
    const reaper = new LeaseReaper(
      { transaction } as unknown as Database,
      {} as TaskWriter,
      {} as RunQueue,
      {} as Agents,
      {} as FailureLog,
      { sweepMs: 10 } as ExecutionOptions,
    );
    reaper.start();
    await jest.advanceTimersByTimeAsync(1_000);
    expect(transactions).toBe(1);

    let stopped = false;
    const stopping = reaper.stop().then(() => (stopped = true));
    await jest.advanceTimersByTimeAsync(1_000);
    expect(stopped).toBe(false);
    // Each sweep has two transactions: for expired leases and for cancels.
    finishTransaction();
    await jest.advanceTimersByTimeAsync(0);
    finishTransaction();
    await stopping;
    expect(transactions).toBe(2);
  });
});
