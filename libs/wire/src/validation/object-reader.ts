import { BOUNDS, DomainError, type FieldViolation, type Json, type JsonObject } from '@app/domain';

/** More would help nobody, and an answer must not grow with the request. */
const MAX_VIOLATIONS = 20;

/** What is wrong with one request, collected so that one answer names all of it. */
export class Violations {
  private readonly found: FieldViolation[] = [];

  add(field: string, description: string): void {
    // The first complaint about a field says enough.
    if (this.found.length >= MAX_VIOLATIONS || this.found.some((known) => known.field === field)) return;
    this.found.push({ field, description });
  }

  /** Throws InvalidParameters when anything was added. */
  throwIfAny(): void {
    if (this.found.length === 0) return;
    const said = this.found.map(({ field, description }) => `${field}: ${description}`).join('; ');
    throw new DomainError('InvalidParameters', `invalid parameters: ${said}`, { violations: this.found });
  }
}

/** Which spellings of a field name are read: `lowerCamel` alone, or the proto's `snake_case` too (ProtoJSON). */
export type FieldCase = 'camel' | 'either';

const PRINTABLE = /^[^\p{C}\p{Zl}\p{Zp}]+$/u;
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

/** Why a string is no id, or undefined when it is one: printable and bounded. */
export function idProblem(value: string): string | undefined {
  if (value.length > BOUNDS.idLength) return `must have at most ${BOUNDS.idLength} characters`;
  return PRINTABLE.test(value) ? undefined : 'must consist of printable characters';
}

/** An extension is named by a URI. */
export const uriProblem = (value: string): string | undefined =>
  value.length <= 2048 ? undefined : 'must have at most 2048 characters';

/** Takes the members that are undefined out, in place: content is stored, compared and hashed as it stands. */
export function dropUndefined<T extends object>(value: T): T {
  for (const key of Object.keys(value) as (keyof T)[]) if (value[key] === undefined) delete value[key];
  return value;
}

const snakeNames = new Map<string, string>();
function toSnakeCase(name: string): string {
  let snake = snakeNames.get(name);
  if (snake === undefined) {
    snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    snakeNames.set(name, snake);
  }
  return snake;
}

/** The member `name` of `source` in the spellings allowed: own members only, null as absent unless `keepNull`. */
export function memberOf(source: JsonObject, name: string, spelling: FieldCase, keepNull = false): Json | undefined {
  let value: Json | undefined = Object.hasOwn(source, name) ? source[name] : undefined;
  if (value === undefined && spelling === 'either') {
    const snake = toSnakeCase(name);
    if (snake !== name && Object.hasOwn(source, snake)) value = source[snake];
  }
  return value === null && !keepNull ? undefined : value;
}

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Reads one JSON object of a request. Absent and null are the same, and so are absent and empty for strings and lists (proto3), so
 * that every client's way of leaving something out gives the same content. What is wrong goes to the violations, and the reader
 * goes on with undefined.
 */
export class ObjectReader {
  constructor(
    readonly source: JsonObject,
    readonly path: string,
    readonly violations: Violations,
    readonly fieldCase: FieldCase,
  ) {}

  pathOf(name: string): string {
    return this.path === '' ? name : `${this.path}.${name}`;
  }

  addViolation(name: string, description: string): undefined {
    this.violations.add(this.pathOf(name), description);
    return undefined;
  }

  /** The member as it is; null counts as absent. */
  value(name: string): Json | undefined {
    return memberOf(this.source, name, this.fieldCase);
  }

  /** A string; an empty one is absent unless `empty` keeps it. */
  string(name: string, empty: 'absent' | 'kept' = 'absent'): string | undefined {
    const value = this.value(name);
    if (value === undefined || (value === '' && empty === 'absent')) return undefined;
    return typeof value === 'string' ? value : this.addViolation(name, 'must be a string');
  }

  /** An id: a bounded, printable string. */
  id(name: string): string | undefined {
    const value = this.string(name);
    const problem = value === undefined ? undefined : idProblem(value);
    return problem === undefined ? value : this.addViolation(name, problem);
  }

  requiredId(name: string): string {
    const value = this.value(name);
    if (value === undefined || value === '') this.addViolation(name, 'is required');
    return this.id(name) ?? '';
  }

  /** An object of anything, such as metadata; an empty one is absent. */
  object(name: string): JsonObject | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (!isObject(value)) return this.addViolation(name, 'must be an object');
    return Object.keys(value).length === 0 ? undefined : value;
  }

  /** A list of non-empty strings; an empty list is absent. */
  strings(name: string, problem: (value: string) => string | undefined = idProblem): string[] | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) return this.addViolation(name, 'must be an array of strings');
    const strings = value.map((item, at) => {
      const why = typeof item !== 'string' || item === '' ? 'must be a non-empty string' : problem(item);
      if (why !== undefined) this.addViolation(`${name}[${at}]`, why);
      return item as string;
    });
    return strings.length === 0 ? undefined : strings;
  }

  /** Base64 in either alphabet, padded or not, as the standard alphabet with padding. */
  base64(name: string): string | undefined {
    const value = this.string(name, 'kept');
    if (value === undefined) return undefined;
    if (!BASE64.test(value) || value.replace(/=+$/, '').length % 4 === 1)
      return this.addViolation(name, 'must be base64');
    return Buffer.from(value, 'base64').toString('base64');
  }
}
