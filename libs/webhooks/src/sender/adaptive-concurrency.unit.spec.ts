import { describe, expect, it } from '@jest/globals';
import { AdaptiveConcurrency } from './adaptive-concurrency.js';

describe('AdaptiveConcurrency', () => {
  it('keeps the initial limit for a target that never responds', () => {
    const concurrency = new AdaptiveConcurrency(1, 8);
    expect(concurrency.saturated()).toEqual([]);
    concurrency.acquire('silent');
    expect(concurrency.saturated()).toEqual(['silent']);
    concurrency.report('silent', false);
    concurrency.release('silent');
    expect(concurrency.saturated()).toEqual([]);
    concurrency.acquire('silent');
    expect(concurrency.saturated()).toEqual(['silent']);
  });

  it('raises the limit of a target with each success up to the maximum, and resets it after a failure', () => {
    const concurrency = new AdaptiveConcurrency(1, 4);
    concurrency.acquire('good');
    for (let n = 0; n < 5; n += 1) concurrency.report('good', true);
    for (let n = 0; n < 2; n += 1) concurrency.acquire('good');
    expect(concurrency.saturated()).toEqual([]);
    concurrency.acquire('good');
    expect(concurrency.saturated()).toEqual(['good']);
    concurrency.report('good', false);
    for (let n = 0; n < 3; n += 1) concurrency.release('good');
    expect(concurrency.saturated()).toEqual(['good']);
  });
});
