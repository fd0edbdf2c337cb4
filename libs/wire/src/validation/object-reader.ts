import { BOUNDS, type FieldViolation, invalidParameters, type Json, type JsonObject, quoted } from '@app/domain';

/** Bounds the size of the response, which must not grow with the request. */
const MAX_VIOLATIONS = 20;

/** Collects the violations of one request, so that one response names all of them. */
export class Violations {
  private readonly found: FieldViolation[] = [];

  add(field: string, description: string): void {
    // Later violations of the same field usually follow from the first.
    if (this.found.length >= MAX_VIOLATIONS || this.found.some((known) => known.field === field)) return;
    this.found.push({ field, description });
  }

  /** Throws InvalidParameters if there is a violation. */
  throwIfAny(): void {
    if (this.found.length > 0) throw invalidParameters(...this.found);
  }
}

/** Accepted spellings of field names: only `lowerCamel`, or also the proto's `snake_case` (ProtoJSON). */
export type FieldCase = 'camel' | 'camel-or-snake';

const PRINTABLE = /^[^\p{C}\p{Zl}\p{Zp}]+$/u;
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

/** Appends the received value to the description of a violation: `must be a string, not 7`. */
export const withValue = (description: string, value: unknown): string => `${description}, not ${shownValue(value)}`;

/** Writes a received value for an error message. Long strings are cut. */
export function shownValue(value: unknown): string {
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && value !== null) return 'an object';
  if (typeof value !== 'string') return String(value);
  return quoted(value);
}

/** Returns why a string is not an id, or undefined if it is one. An id is printable and bounded. */
export function idProblem(value: string): string | undefined {
  if (value.length > BOUNDS.idLength) return `must have at most ${BOUNDS.idLength} characters, not ${value.length}`;
  return PRINTABLE.test(value) ? undefined : 'must consist of printable characters';
}

const MAX_URI_LENGTH = 2048;

/** Returns why a string is not the URI of an extension, or undefined if it is one. */
export function uriProblem(value: string): string | undefined {
  if (value.length > MAX_URI_LENGTH) return `must have at most ${MAX_URI_LENGTH} characters, not ${value.length}`;
  return /[\s\p{C}]/u.test(value) ? withValue('must be a URI without spaces and control characters', value) : undefined;
}

/** Deletes undefined members in place, because content is stored, compared and hashed as it is. */
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

/** Returns the accepted spellings of a field name, the preferred one first. */
export function spellingsOf(name: string, fieldCase: FieldCase): readonly string[] {
  const snake = fieldCase === 'camel' ? name : toSnakeCase(name);
  return snake === name ? [name] : [name, snake];
}

/** Returns the own member `name` of `source` in an accepted spelling. Null counts as absent unless `keepNull` is set. */
export function memberOf(source: JsonObject, name: string, fieldCase: FieldCase, keepNull = false): Json | undefined {
  let value: Json | undefined = Object.hasOwn(source, name) ? source[name] : undefined;
  if (value === undefined && fieldCase === 'camel-or-snake') {
    const snake = toSnakeCase(name);
    if (snake !== name && Object.hasOwn(source, snake)) value = source[snake];
  }
  return value === null && !keepNull ? undefined : value;
}

/** Returns why a field is ambiguous, or undefined: the object has both spellings of its name, which are one field in ProtoJSON. */
export function spellingProblem(source: JsonObject, name: string, fieldCase: FieldCase): string | undefined {
  if (fieldCase === 'camel' || !Object.hasOwn(source, name)) return undefined;
  const snake = toSnakeCase(name);
  return snake !== name && Object.hasOwn(source, snake) ? `is sent twice, also as ${snake}; send it once` : undefined;
}

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Reads one JSON object of a request. Null counts as absent, and so do empty strings and lists (proto3), so that each client's
 * way to omit a field gives the same content. The reader adds violations instead of throwing, and then returns undefined.
 */
export class ObjectReader {
  constructor(
    readonly source: JsonObject,
    readonly path: string,
    readonly violations: Violations,
    readonly fieldCase: FieldCase,
  ) {}

  /** Returns the path of a member from the root of the request, such as `message.parts[0]`. */
  pathOf(name: string): string {
    return this.path === '' ? name : `${this.path}.${name}`;
  }

  addViolation(name: string, description: string): undefined {
    this.violations.add(this.pathOf(name), description);
    return undefined;
  }

  /** Returns the member unchecked. Null counts as absent. */
  value(name: string): Json | undefined {
    const problem = spellingProblem(this.source, name, this.fieldCase);
    if (problem !== undefined) this.addViolation(name, problem);
    return memberOf(this.source, name, this.fieldCase);
  }

  /** Reads a string. An empty one counts as absent unless `empty` is `kept`. */
  string(name: string, empty: 'absent' | 'kept' = 'absent'): string | undefined {
    const value = this.value(name);
    if (value === undefined || (value === '' && empty === 'absent')) return undefined;
    return typeof value === 'string' ? value : this.addViolation(name, withValue('must be a string', value));
  }

  /** Reads a string in which `problemOf` finds no problem. An empty string counts as absent. */
  checkedString(name: string, problemOf: (value: string) => string | undefined): string | undefined {
    const value = this.string(name);
    const problem = value === undefined ? undefined : problemOf(value);
    return problem === undefined ? value : this.addViolation(name, problem);
  }

  /** Reads an id: a bounded, printable string. */
  id(name: string): string | undefined {
    return this.checkedString(name, idProblem);
  }

  /** Reads an id, and adds a violation if it is absent. */
  requiredId(name: string): string {
    const value = this.value(name);
    if (value === undefined || value === '') this.addViolation(name, 'is required');
    return this.id(name) ?? '';
  }

  /** Reads an object with any members, such as metadata. An empty one counts as absent. */
  object(name: string): JsonObject | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (!isObject(value)) return this.addViolation(name, withValue('must be an object', value));
    return Object.keys(value).length === 0 ? undefined : value;
  }

  /** Reads a list of non-empty strings. An empty list counts as absent. */
  strings(name: string, problem: (value: string) => string | undefined = idProblem): string[] | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) return this.addViolation(name, withValue('must be an array of strings', value));
    const strings = value.map((item, index) => {
      const isText = typeof item === 'string' && item !== '';
      const description = isText ? problem(item) : withValue('must be a non-empty string', item);
      if (description !== undefined) this.addViolation(`${name}[${index}]`, description);
      return item as string;
    });
    return strings.length === 0 ? undefined : strings;
  }

  /** Reads base64 in either alphabet, padded or not, and returns it in the standard alphabet with padding. */
  base64(name: string): string | undefined {
    const value = this.string(name, 'kept');
    if (value === undefined) return undefined;
    const isBase64 = BASE64.test(value) && value.replace(/=+$/, '').length % 4 !== 1;
    if (!isBase64) return this.addViolation(name, 'must be base64');
    return Buffer.from(value, 'base64').toString('base64');
  }
}

/** Returns a reader of a required object. If it is not an object, adds a violation and returns a reader without members. */
export function requiredObject(
  source: Json | undefined,
  path: string,
  violations: Violations,
  fieldCase: FieldCase,
): ObjectReader {
  if (isObject(source)) return new ObjectReader(source, path, violations, fieldCase);
  const isAbsent = source === undefined || source === null;
  violations.add(path, isAbsent ? 'is required' : withValue('must be an object', source));
  // The violations of members that cannot exist are dropped.
  return new ObjectReader({}, path, new Violations(), fieldCase);
}
