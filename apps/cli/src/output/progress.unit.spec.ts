import { describe, expect, it } from '@jest/globals';
import { progressBar } from './progress.js';

describe('progressBar', () => {
  it('fills in proportion to the total, and stays full when more is done than was counted', () => {
    expect(progressBar('event', 0, 10)).toBe(`${'░'.repeat(30)}   0 %  0 of 10 events`);
    expect(progressBar('event', 5, 10)).toBe(`${'█'.repeat(15)}${'░'.repeat(15)}  50 %  5 of 10 events`);
    expect(progressBar('event', 12, 10)).toBe(`${'█'.repeat(30)} 100 %  12 of 12 events`);
    expect(progressBar('event', 0, 0)).toBe(`${'█'.repeat(30)} 100 %  0 of 0 events`);
    expect(progressBar('event', 1, 1)).toBe(`${'█'.repeat(30)} 100 %  1 of 1 event`);
  });
});
