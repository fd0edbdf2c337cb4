import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseTimestamp } from './timestamp.js';

describe('parseTimestamp', () => {
  // [A2A-JSON-2]
  it('returns every time that toISOString writes unchanged', () => {
    const times = fc.date({
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59Z'),
      noInvalidDate: true,
    });
    fc.assert(fc.property(times, (time) => expect(parseTimestamp(time.toISOString())).toBe(time.toISOString())));
  });

  it.each([
    ['2025-10-28T10:30:00Z', '2025-10-28T10:30:00.000Z'],
    ['2025-10-28T10:30:00.5Z', '2025-10-28T10:30:00.500Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['2025-10-28T10:30:00+02:00', '2025-10-28T08:30:00.000Z'],
    ['2025-01-01T00:00:00-00:30', '2025-01-01T00:30:00.000Z'],
    ['2025-10-28t10:30:00z', '2025-10-28T10:30:00.000Z'],
    ['2025-10-28t10:30:00.25+02:00', '2025-10-28T08:30:00.250Z'],
    ['2025-10-28T10:30:00z', '2025-10-28T10:30:00.000Z'],
    ['2024-12-31T23:59:59.9999+00:00', '2025-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999999999Z', '9999-12-31T23:59:59.999Z'],
    ['9999-12-31T23:59:59.9990001z', '9999-12-31T23:59:59.999Z'],
    ['9999-12-31T22:59:59.999999999-01:00', '9999-12-31T23:59:59.999Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['0001-01-01T01:00:00+01:00', '0001-01-01T00:00:00.000Z'],
  ])('parses %s as %s', (text, time) => {
    expect(parseTimestamp(text)).toBe(time);
  });

  // RFC 3339 section 5.7 and appendix D.
  it.each([
    ['1990-12-31T23:59:60Z', '1991-01-01T00:00:00.000Z'],
    ['1990-12-31T15:59:60-08:00', '1991-01-01T00:00:00.000Z'],
    ['2015-07-01T01:29:60.5+01:30', '2015-07-01T00:00:00.500Z'],
    ['2016-12-31t23:59:60.123456789z', '2017-01-01T00:00:00.124Z'],
    ['9999-12-31T23:59:60Z', '9999-12-31T23:59:59.999Z'],
  ])('parses the leap second %s as the second after it, %s', (text, time) => {
    expect(parseTimestamp(text)).toBe(time);
  });

  it.each([
    ['in the middle of a month', '2016-12-30T23:59:60Z'],
    ['at noon', '2016-12-31T12:59:60Z'],
    ['at midnight of a different time zone', '2016-12-31T23:59:60+01:00'],
    ['beyond 60', '2016-12-31T23:59:61Z'],
  ])('rejects a leap second %s', (_, text) => {
    expect(parseTimestamp(text)).toBeUndefined();
  });

  // F26: an inclusive filter with a fraction of a millisecond must not include the millisecond before it.
  it('rounds a fraction of a millisecond up', () => {
    expect(parseTimestamp('2025-10-28T10:30:00.123000000Z')).toBe('2025-10-28T10:30:00.123Z');
    expect(parseTimestamp('2025-10-28T10:30:00.123000001Z')).toBe('2025-10-28T10:30:00.124Z');
    expect(parseTimestamp('2025-12-31T23:59:59.9999Z')).toBe('2026-01-01T00:00:00.000Z');
  });

  it.each([
    '2025-10-28',
    '2025-10-28T10:30:00',
    '2025-10-28 10:30:00Z',
    '2025-10-28T10:30Z',
    '2025-02-29T00:00:00Z',
    '2025-13-01T00:00:00Z',
    '2025-00-01T00:00:00Z',
    '2025-01-00T00:00:00Z',
    '2025-01-01T24:00:00Z',
    '2025-01-01T00:60:00Z',
    '0001-01-01T00:00:00+00:01',
    '9999-12-31T23:59:59-00:01',
    '2025-01-01T00:00:00.Z',
    '2025-01-01T00:00:00.1234567890Z',
    '2025-01-01T00:00:00+0200',
    '0000-01-01T00:00:00Z',
    '10000-01-01T00:00:00Z',
    '1761647400',
    '',
  ])('rejects %j', (text) => {
    expect(parseTimestamp(text)).toBeUndefined();
  });
});
