import { parseTimestamp } from '@app/wire';
import { InvalidArgumentError } from 'commander';

/** The options of every command. */
export interface OutputOptions {
  readonly json?: boolean;
}

/** The options of a command for one task. */
export interface TaskOptions extends OutputOptions {
  readonly tenant: string;
}

export const TENANT_OPTION = ['--tenant <tenant>', 'tenant of the task', 'default'] as const;
export const JSON_OPTION = ['--json', 'print machine-readable JSON'] as const;

/** Spread into `option()`, like the other ones. */
export const TIMEOUT_OPTION = [
  '--timeout <duration>',
  'stop waiting after this time, such as 30s, with exit code 1 (default: never)',
  (text: string) => parseDuration(text),
] as const;

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
const HUNDRED_YEARS_MS = 100 * 366 * 86_400_000;

/** Parses a duration such as `90d` or `12h`; returns milliseconds. */
export function parseDuration(text: string): number {
  const [, count, unit] = /^([1-9]\d{0,9})([smhdw])$/.exec(text) ?? [];
  const ms = Number(count) * (UNIT_MS[unit ?? ''] ?? NaN);
  if (!(ms <= HUNDRED_YEARS_MS))
    throw new InvalidArgumentError('Use a number and s, m, h, d or w, such as 90d or 12h.');
  return ms;
}

/** Returns a parser of integers within bounds, both included, for options such as `--limit`. */
export function integerBetween(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    if (!(value >= min && value <= max)) throw new InvalidArgumentError(`Use an integer from ${min} to ${max}.`);
    return value;
  };
}

/** Parses an RFC 3339 timestamp or a date, which starts in UTC. Returns it in UTC. */
export function instant(text: string): string {
  const time = parseTimestamp(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text);
  if (time === undefined) throw new InvalidArgumentError('Use a time such as 2026-01-31T00:00:00Z, or a date.');
  return time;
}

/** Collects the values of a repeatable option. */
export const collect = (value: string, previous: readonly string[] = []): string[] => [...previous, value];
