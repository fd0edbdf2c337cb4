import type { IncomingHttpHeaders } from 'node:http';

/** The longest wait that a target can request with `Retry-After`. A larger value counts as this one. */
export const MAX_RETRY_AFTER_MS = 3_600_000;

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
/** The current format of dates, and the two obsolete ones that every recipient must accept (RFC 9110, section 5.6.7). */
const DATE_FORMATS = [
  /^[A-Z][a-z]{2}, (?<day>\d{2}) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/,
  /^[A-Z][a-z]{5,8}, (?<day>\d{2})-(?<month>[A-Z][a-z]{2})-(?<year>\d{2}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/,
  /^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) (?<time>\d{2}:\d{2}:\d{2}) (?<year>\d{4})$/,
];

/**
 * Returns the wait that a response requests with `Retry-After` (RFC 9110, section 10.2.3), in milliseconds between 0 and
 * `MAX_RETRY_AFTER_MS`. Returns null if the header is missing or malformed. A date counts from the `Date` of the response,
 * because the clock of the target can differ; without it, from `now` in milliseconds since 1970.
 */
export function retryAfterMs(headers: IncomingHttpHeaders, now: number): number | null {
  const value: unknown = headers['retry-after'];
  if (typeof value !== 'string') return null;
  const wait = /^\d+$/.test(value) ? Number(value) * 1_000 : waitUntil(value, headers.date, now);
  return wait === null ? null : Math.min(Math.max(wait, 0), MAX_RETRY_AFTER_MS);
}

function waitUntil(value: string, sent: unknown, now: number): number | null {
  const time = parseHttpDate(value, now);
  if (time === null) return null;
  return time - ((typeof sent === 'string' ? parseHttpDate(sent, now) : null) ?? now);
}

/** Returns the time in milliseconds since 1970, or null for a text that is not an HTTP date. */
function parseHttpDate(text: string, now: number): number | null {
  const match = DATE_FORMATS.map((format) => format.exec(text)).find((found) => found !== null);
  if (match?.groups === undefined) return null;
  const { day, month, year, time } = match.groups as { day: string; month: string; year: string; time: string };
  const monthNumber = MONTHS.indexOf(month) + 1;
  const fullYear = year.length === 4 ? year : String(fullYearOf(Number(year), new Date(now).getUTCFullYear()));
  const iso = `${fullYear}-${String(monthNumber).padStart(2, '0')}-${day.replace(' ', '0')}T${time}Z`;
  const parsed = Date.parse(iso);
  return Number.isNaN(parsed) ? null : parsed;
}

/** A year of two digits that appears to be more than 50 years in the future is of the past (RFC 9110, section 5.6.7). */
function fullYearOf(twoDigits: number, currentYear: number): number {
  const year = currentYear - (currentYear % 100) + twoDigits;
  return year > currentYear + 50 ? year - 100 : year;
}
