import { describe, expect, it } from '@jest/globals';
import { backoffMs } from '@app/domain';
import { WEBHOOK_DEFAULTS } from '../webhook-options.js';

describe('WEBHOOK_DEFAULTS', () => {
  it('double the wait between two attempts from one second to 15 minutes, of which one half is jitter', () => {
    const seconds = (random: number) =>
      [1, 2, 3, 10, 14].map((attempt) => backoffMs(attempt, WEBHOOK_DEFAULTS, random) / 1_000);
    expect(seconds(0)).toEqual([0.5, 1, 2, 256, 450]);
    expect(seconds(1)).toEqual([1, 2, 4, 512, 900]);
  });
});
