const RFC3339 =
  /^(\d{4}-\d{2}-\d{2})T((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d{1,9}))?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))$/;

/**
 * Parses a strict RFC 3339 timestamp and returns it in UTC with milliseconds, or undefined if it is invalid. An offset is accepted,
 * as in ProtoJSON. Leap seconds and days that a month does not have are not. A fraction of a millisecond rounds up, so that an
 * inclusive lower bound stays exact: Acta's times have no such fraction.
 */
export function parseTimestamp(text: string): string | undefined {
  const match = RFC3339.exec(text);
  if (match === null) return undefined;
  const [, day = '', time = '', fraction = '', sign, offsetHours = '0', offsetMinutes = '0'] = match;
  const midnight = new Date(`${day}T00:00:00Z`);
  // A day that the month does not have is an invalid date or rolls over into the next month.
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(day)) return undefined;
  const roundUp = /[1-9]/.test(fraction.slice(3)) ? 1 : 0;
  const milliseconds = Number(fraction.slice(0, 3).padEnd(3, '0')) + roundUp;
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60_000 * (sign === '-' ? -1 : 1);
  const instant = new Date(Date.parse(`${day}T${time}Z`) + milliseconds - offset);
  const year = instant.getUTCFullYear();
  return day.startsWith('0000') || year < 1 || year > 9999 ? undefined : instant.toISOString();
}
