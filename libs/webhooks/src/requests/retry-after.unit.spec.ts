import { describe, expect, it } from '@jest/globals';
import { MAX_RETRY_AFTER_MS, retryAfterMs } from './retry-after.js';

const NOW = Date.parse('2026-01-01T00:00:00.000Z');
const waitOf = (value: unknown, date?: string) =>
  retryAfterMs({ 'retry-after': value as string, ...(date === undefined ? {} : { date }) }, NOW);

describe('retryAfterMs', () => {
  it.each([
    ['zero seconds', '0', 0],
    ['two minutes', '120', 120_000],
    ['the maximum', '3600', MAX_RETRY_AFTER_MS],
    ['a year, which is the maximum', '31536000', MAX_RETRY_AFTER_MS],
    ['a number with 400 digits, which is the maximum', '9'.repeat(400), MAX_RETRY_AFTER_MS],
    ['a date', 'Thu, 01 Jan 2026 00:01:30 GMT', 90_000],
    ['a date in the format of RFC 850', 'Thursday, 01-Jan-26 00:01:30 GMT', 90_000],
    ['a date in the format of asctime', 'Thu Jan  1 00:01:30 2026', 90_000],
    ['a date in the past, which is no wait', 'Wed, 31 Dec 2025 23:59:59 GMT', 0],
    ['a date of RFC 850 in the past century, which is no wait', 'Sunday, 06-Nov-94 08:49:37 GMT', 0],
    ['a date in the year 9999, which is the maximum', 'Fri, 31 Dec 9999 23:59:59 GMT', MAX_RETRY_AFTER_MS],
  ])('returns the wait of %s', (_what, value, wait) => {
    expect(waitOf(value)).toBe(wait);
  });

  it.each([
    ['a missing value', undefined],
    ['an empty value', ''],
    ['a negative number', '-5'],
    ['a signed number', '+5'],
    ['a fraction', '1.5'],
    ['an exponent', '1e3'],
    ['a hexadecimal number', '0x10'],
    ['a word', 'soon'],
    ['two values in one header', '5, 10'],
    ['two headers', ['5', '10']],
    ['a date in ISO 8601', '2026-01-01T00:01:30Z'],
    ['a date in a different time zone', 'Thu, 01 Jan 2026 00:01:30 CET'],
    ['a date with an unknown month', 'Thu, 01 Foo 2026 00:01:30 GMT'],
    ['a date with an hour that does not exist', 'Thu, 01 Jan 2026 25:01:30 GMT'],
  ])('returns null for %s', (_what, value) => {
    expect(waitOf(value)).toBeNull();
  });

  it('counts a date from the date of the response, if that is valid', () => {
    const date = 'Thu, 01 Jan 2026 00:10:00 GMT';
    expect(waitOf(date, 'Thu, 01 Jan 2026 00:09:00 GMT')).toBe(60_000);
    expect(waitOf(date, 'now')).toBe(600_000);
  });
});
