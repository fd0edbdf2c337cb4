import { describe, expect, it } from '@jest/globals';
import { collect, instant, integerBetween, parseDuration } from './options.js';

describe('parseDuration', () => {
  it.each([
    ['1s', 1_000],
    ['5m', 300_000],
    ['12h', 43_200_000],
    ['90d', 7_776_000_000],
    ['2w', 1_209_600_000],
  ])('parses %s as %d milliseconds', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each(['', '90', 'd', '0d', '-1d', '1.5h', '9y', '90 d', '9999999999w', '90D'])('rejects %j', (text) => {
    expect(() => parseDuration(text)).toThrow('Use a number and s, m, h, d or w, such as 90d or 12h.');
  });
});

describe('integerBetween', () => {
  it('accepts only integers within its bounds', () => {
    const parse = integerBetween(1, 100);
    expect([parse('1'), parse('100')]).toEqual([1, 100]);
    for (const text of ['0', '101', '1.5', '-1', '', '1e2', '0x1', ' 1']) {
      expect(() => parse(text)).toThrow('Use an integer from 1 to 100.');
    }
  });
});

describe('instant', () => {
  it.each([
    ['2026-01-31', '2026-01-31T00:00:00.000Z'],
    ['2026-01-31T10:00:00+02:00', '2026-01-31T08:00:00.000Z'],
    ['2026-01-31t10:00:00.5z', '2026-01-31T10:00:00.500Z'],
  ])('parses %s as %s', (text, time) => {
    expect(instant(text)).toBe(time);
  });

  it.each(['yesterday', '', '2026-02-30', '2026-01-31T10:00', '2026-13-01', '1769817600'])('rejects %j', (text) => {
    expect(() => instant(text)).toThrow('Use a time such as 2026-01-31T00:00:00Z, or a date.');
  });
});

describe('collect', () => {
  it('returns the values of a repeated option in their order', () => {
    expect(collect('b', collect('a'))).toEqual(['a', 'b']);
  });
});
