import { InvalidArgumentError } from 'commander';

/** Every command has it. */
export interface OutputOptions {
  readonly json?: boolean;
}

/** Of a command about one task. */
export interface TaskOptions extends OutputOptions {
  readonly tenant: string;
}

export const TENANT_OPTION = ['--tenant <tenant>', 'whose task it is', 'default'] as const;
export const JSON_OPTION = ['--json', 'write JSON, for programs to read'] as const;

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
const HUNDRED_YEARS = 100 * 366 * 86_400_000;

/** `90d`, `12h`: milliseconds. */
export function parseDuration(text: string): number {
  const [, count, unit] = /^([1-9]\d{0,9})([smhdw])$/.exec(text) ?? [];
  const ms = Number(count) * (UNITS[unit ?? ''] ?? NaN);
  if (!(ms <= HUNDRED_YEARS)) throw new InvalidArgumentError('Use a number and s, m, h, d or w, such as 90d or 12h.');
  return ms;
}

/** A whole number within its bounds, for `--limit` and its like. */
export function wholeNumber(from: number, to: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    if (!(value >= from && value <= to)) throw new InvalidArgumentError(`Use a whole number from ${from} to ${to}.`);
    return value;
  };
}

/** For an option that may be given several times. */
export const collect = (value: string, before: readonly string[] = []): string[] => [...before, value];
