const RFC3339 =
  /^(\d{4}-\d{2}-\d{2})T((?:[01]\d|2[0-3]):[0-5]\d):([0-5]\d|60)(?:\.(\d{1,9}))?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))$/i;

const FIRST = Date.parse('0001-01-01T00:00:00.000Z');
const LAST = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Parses an RFC 3339 timestamp and returns it in UTC with milliseconds, or undefined if it is invalid. ProtoJSON has the same range,
 * the years 1 to 9999 in UTC. A fraction of a millisecond rounds up, so that a lower bound stays inclusive and an upper bound
 * exclusive: Acta's times have no such fraction. At the end of the range, it rounds down. A leap second is the second after it.
 */
export function parseTimestamp(text: string): string | undefined {
  const match = RFC3339.exec(text);
  if (match === null) return undefined;
  const [, day = '', minute = '', second = '', fraction = '', sign, offsetHours = '0', offsetMinutes = '0'] = match;
  const midnight = new Date(`${day}T00:00:00Z`);
  // A day that the month does not have is an invalid date or rolls over into the next month.
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(day)) return undefined;
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60_000 * (sign === '-' ? -1 : 1);
  const startOfMinute = Date.parse(`${day}T${minute}:00Z`) - offset;
  if (second === '60' && !canEndWithLeapSecond(startOfMinute)) return undefined;
  const startOfSecond = startOfMinute + Number(second) * 1_000;
  const isInRange = startOfMinute >= FIRST && startOfMinute <= LAST;
  const roundUp = /[1-9]/.test(fraction.slice(3)) ? 1 : 0;
  const instant = startOfSecond + Number(fraction.slice(0, 3).padEnd(3, '0')) + roundUp;
  return isInRange ? new Date(Math.min(instant, LAST)).toISOString() : undefined;
}

/** Whether a minute is the last of a month in UTC, the only one that can have a leap second (RFC 3339 section 5.7). */
function canEndWithLeapSecond(startOfMinute: number): boolean {
  const next = new Date(startOfMinute + 60_000);
  return next.getUTCDate() === 1 && next.getUTCHours() === 0 && next.getUTCMinutes() === 0;
}
