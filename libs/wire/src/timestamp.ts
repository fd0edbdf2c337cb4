const RFC3339 =
  /^(\d{4})-(\d{2})-(\d{2})T([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d{1,9}))?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))$/;

/**
 * A strict RFC 3339 timestamp as UTC with milliseconds, or undefined. An offset is taken, as ProtoJSON does; leap seconds and days
 * that a month lacks are not. Digits below a millisecond round up: Acta's times have none, so "at or after" stays exact.
 */
export function parseTimestamp(text: string): string | undefined {
  const match = RFC3339.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction = '', sign, offsetHour = '0', offsetMinute = '0'] = match;
  const days = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  if (year === '0000' || month === '00' || Number(month) > 12 || day === '00' || Number(day) > days) return undefined;
  const below = /[1-9]/.test(fraction.slice(3)) ? 1 : 0;
  const milliseconds = Number(fraction.slice(0, 3).padEnd(3, '0')) + below;
  const local = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
  const offset = (Number(offsetHour) * 60 + Number(offsetMinute)) * 60_000 * (sign === '-' ? -1 : 1);
  const time = new Date(local + milliseconds - offset);
  return time.getUTCFullYear() >= 1 && time.getUTCFullYear() <= 9999 ? time.toISOString() : undefined;
}
