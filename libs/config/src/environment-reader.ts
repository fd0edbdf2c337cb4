import { readFileSync } from 'node:fs';
import { ConfigError } from './config-error.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Parses single variables. Each error states what to do. An empty variable counts as not set, because compose files and shells
 * pass empty values for variables that were left out.
 */
export class EnvironmentReader {
  constructor(private readonly env: Environment) {}

  /** Returns whether the variable is set, possibly to an empty value. */
  isPresent(name: string): boolean {
    return this.env[name] !== undefined;
  }

  optional(name: string): string | null {
    const value = this.env[name]?.trim() ?? '';
    return value === '' ? null : value;
  }

  text(name: string, defaultValue: string): string {
    return this.optional(name) ?? defaultValue;
  }

  integer(name: string, defaultValue: number, [min, max]: readonly [number, number]): number {
    const value = this.optional(name);
    if (value === null) return defaultValue;
    const number = /^\d+$/.test(value) ? Number(value) : NaN;
    if (!(number >= min && number <= max)) throw invalidValue(name, value, `use a whole number from ${min} to ${max}`);
    return number;
  }

  oneOf<T extends string>(name: string, choices: readonly T[], defaultValue: T): T {
    const value = this.optional(name);
    if (value === null) return defaultValue;
    const choice = choices.find((candidate) => candidate === value);
    if (choice === undefined) throw invalidValue(name, value, `use ${alternatives(choices)}`);
    return choice;
  }

  flag(name: string): boolean {
    const value = this.oneOf(name, ['true', 'false', '1', '0'], 'false');
    return value === 'true' || value === '1';
  }

  /** Returns the entries of a list that is separated by commas. Rejects empty and repeated entries, which are mistakes. */
  list(name: string): string[] {
    const value = this.optional(name);
    if (value === null) return [];
    const entries = value.split(',').map((entry) => entry.trim());
    if (entries.includes('')) throw invalidValue(name, value, 'remove the empty entry');
    const repeated = entries.find((entry, index) => entries.indexOf(entry) !== index);
    if (repeated !== undefined) throw invalidValue(name, value, `name ${JSON.stringify(repeated)} once`);
    return entries;
  }

  /** Errors do not contain the value, because a URL can contain credentials. `protocols` are values of `URL.protocol`. */
  url(name: string, protocols: readonly string[], advice: string): URL | null {
    const value = this.optional(name);
    if (value === null) return null;
    if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol)) {
      throw new ConfigError(`${name} is not a valid URL: ${advice}.`);
    }
    return new URL(value);
  }

  /** Returns the content of the file that a variable names. Errors do not contain the value, which may be a pasted secret. */
  file(name: string): string | null {
    const path = this.optional(name);
    if (path === null) return null;
    try {
      return readFileSync(path, 'utf8');
    } catch (error) {
      const { code = 'unknown error' } = error as NodeJS.ErrnoException;
      throw new ConfigError(`${name} does not name a readable file (${code}): use the path of a file.`);
    }
  }

  /** Rejects misspelled variables, which would otherwise have no effect. */
  rejectUnknown(prefix: string, known: readonly string[]): void {
    for (const name of Object.keys(this.env).toSorted()) {
      if (!name.startsWith(prefix) || known.includes(name)) continue;
      const close = closeName(name, known, prefix);
      const advice = close === null ? 'use a name of docs/environment.md, or remove it' : `use ${close}, or remove it`;
      throw new ConfigError(`${name} is not a setting of Acta: ${advice}.`);
    }
  }
}

export function invalidValue(name: string, value: string, advice: string): ConfigError {
  return new ConfigError(`${name} is ${JSON.stringify(value.slice(0, 60))}: ${advice}.`);
}

export const alternatives = (choices: readonly string[]): string =>
  choices.length < 2 ? choices.join('') : `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`;

/**
 * Returns the known name that differs in at most a third of the characters after the prefix, or else the only one that starts with
 * the whole name. Null: all are too different.
 */
function closeName(name: string, known: readonly string[], prefix: string): string | null {
  const distances = known.map((candidate) => ({ candidate, distance: editDistance(name, candidate) }));
  const [nearest] = distances.toSorted((a, b) => a.distance - b.distance);
  const maximum = Math.max(1, Math.floor((name.length - prefix.length) / 3));
  if (nearest !== undefined && nearest.distance <= maximum) return nearest.candidate;
  const longer = known.filter((candidate) => candidate.startsWith(`${name}_`));
  return longer.length === 1 ? longer[0]! : null;
}

/** The Levenshtein distance, computed row by row. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replaced = previous[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, previous[column]! + 1, current[column - 1]! + 1));
    }
    previous = current;
  }
  return previous[b.length]!;
}
