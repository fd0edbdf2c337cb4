import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { ClientFailure } from '@app/client';
import { retryWhileUnreachable } from './retry-while-unreachable.js';

const POLICY = { backoffMs: 10, maxBackoffMs: 40, giveUpAfterMs: 500 };
/** A timer may fire up to 1 ms early. */
const TIMER_ERROR_MS = 2;
const unreachable = () => new ClientFailure('unreachable', 'the connection failed');

/** Runs work that always fails, and returns the waits between its calls in milliseconds. */
async function waitsOf(error: Error, changeCount: () => number = () => 0, policy = POLICY): Promise<number[]> {
  const calls: number[] = [];
  const work = async () => {
    calls.push(performance.now());
    throw error;
  };
  const { signal } = new AbortController();
  await expect(retryWhileUnreachable(work, policy, changeCount, signal)).rejects.toBe(error);
  return calls.slice(1).map((time, index) => time - calls[index]! + TIMER_ERROR_MS);
}

describe('retryWhileUnreachable', () => {
  afterEach(() => void jest.restoreAllMocks());

  it('doubles the wait up to its maximum, and throws the last failure at the time limit', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(0.9999);
    const waits = await waitsOf(unreachable());
    [10, 20, 40].forEach((expected, index) => expect(waits[index]).toBeGreaterThanOrEqual(expected));
    for (const wait of waits.slice(3)) expect(wait).toBeGreaterThanOrEqual(40);
    expect(waits.length).toBeLessThanOrEqual(13);
  });

  it('starts the time limit again after each change', async () => {
    let changes = 0;
    const policy = { ...POLICY, giveUpAfterMs: 50 };
    const waits = await waitsOf(unreachable(), () => Math.min((changes += 1), 40), policy);
    expect(waits.length).toBeGreaterThan(10);
  });

  it('throws any other failure immediately', async () => {
    expect(await waitsOf(new ClientFailure('rejected', 'the agent responded with status 400'))).toEqual([]);
  });

  it('throws the reason of its signal when the signal aborts', async () => {
    const stop = new AbortController();
    const reason = new Error('the run is lost');
    const work = async () => {
      stop.abort(reason);
      throw unreachable();
    };
    await expect(retryWhileUnreachable(work, POLICY, () => 0, stop.signal)).rejects.toBe(reason);
  });
});
