import { describe, expect, it } from '@jest/globals';
import { formatCount } from './count.js';

describe('formatCount', () => {
  it.each([
    [0, '0 tasks'],
    [1, '1 task'],
    [2, '2 tasks'],
  ])('formats %d as "%s"', (count, text) => {
    expect(formatCount(count, 'task')).toBe(text);
  });
});
