import { expect, it } from '@jest/globals';
import { progressBar } from './progress.js';

it('fills its bar, also when more came than was counted', () => {
  expect(progressBar('events', 0, 10)).toBe(`${'░'.repeat(30)}   0 %  0 of 10 events`);
  expect(progressBar('events', 5, 10)).toBe(`${'█'.repeat(15)}${'░'.repeat(15)}  50 %  5 of 10 events`);
  expect(progressBar('events', 12, 10)).toBe(`${'█'.repeat(30)} 100 %  12 of 12 events`);
  expect(progressBar('events', 0, 0)).toBe(`${'█'.repeat(30)} 100 %  0 of 0 events`);
});
