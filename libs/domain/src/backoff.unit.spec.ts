import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { backoffMs, retryAt } from './backoff.js';

const attempts = fc.integer({ min: 0, max: 200 });
const randoms = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('backoffMs', () => {
  it('doubles with each attempt up to the maximum, of which at most one half is jitter', () => {
    const policies = fc.record({
      backoffMs: fc.integer({ min: 1, max: 10_000 }),
      maxBackoffMs: fc.integer({ min: 1, max: 900_000 }),
    });
    fc.assert(
      fc.property(policies, attempts, randoms, (policy, attempt, random) => {
        const longest = Math.min(policy.backoffMs * 2 ** Math.max(0, attempt - 1), policy.maxBackoffMs);
        const wait = backoffMs(attempt, policy, random);
        expect(wait).toBeGreaterThanOrEqual(longest / 2);
        expect(wait).toBeLessThanOrEqual(longest);
      }),
    );
  });
});

describe('retryAt', () => {
  it("adds the backoff of the agent's policy to the time, at most one minute, of which at most one half is jitter", () => {
    const policies = fc.record({
      attempts: fc.integer({ min: 1, max: 100 }),
      backoffMs: fc.integer({ min: 1, max: 10_000 }),
    });
    fc.assert(
      fc.property(policies, attempts, randoms, (policy, attempt, random) => {
        const now = Date.UTC(2026, 0, 1);
        const wait = Date.parse(retryAt(now, attempt, policy, random)) - now;
        const longest = Math.min(policy.backoffMs * 2 ** Math.max(0, attempt - 1), 60_000);
        expect(wait).toBeGreaterThanOrEqual(Math.floor(longest / 2));
        expect(wait).toBeLessThanOrEqual(longest);
      }),
    );
  });
});
