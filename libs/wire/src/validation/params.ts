import 'reflect-metadata';
import type { Json, JsonObject } from '@app/domain';
import { getMetadataStorage, IsDefined, IsOptional, ValidateBy, validateSync } from 'class-validator';
import { idProblem, isObject, memberOf, Violations, type FieldCase } from './object-reader.js';
import { parseTimestamp } from './timestamp.js';

/*
 * Params are class-validator classes: what a method takes stands in one place, as decorators. A message is not: its parts are a
 * oneof whose bytes are normalized on the way, so a class would be validated and then walked again (see `message.codec.ts`).
 */

type ParamsClass<T extends object> = new () => T;

interface Field {
  readonly name: string;
  /** proto3 writes a string that is absent as an empty one. */
  readonly isString: boolean;
}

const fieldsOfClass = new Map<ParamsClass<object>, readonly Field[]>();

function fieldsOf(Params: ParamsClass<object>): readonly Field[] {
  let fields = fieldsOfClass.get(Params);
  if (fields === undefined) {
    const rules = getMetadataStorage().getTargetValidationMetadatas(Params, '', false, false);
    const names = [...new Set(rules.map((rule) => rule.propertyName))];
    fields = names.map((name) => ({
      name,
      isString: Reflect.getMetadata('design:type', Params.prototype as object, name) === String,
    }));
    fieldsOfClass.set(Params, fields);
  }
  return fields;
}

/** The fields of a params class as a plain object. */
type Plain<T> = { [K in keyof T]: T[K] };

/**
 * The fields of `source` that `Params` declares; unknown fields are ignored, null is absent, and so is the empty
 * string where a string is wanted. What its decorators refuse goes to `violations`, under `path`.
 */
export function readParams<T extends object>(
  Params: ParamsClass<T>,
  source: Json | undefined,
  violations: Violations,
  { spelling, path = '' }: { spelling: FieldCase; path?: string },
): Plain<T> {
  const params: Record<string, unknown> = {};
  if (source !== undefined && source !== null && !isObject(source)) {
    violations.add(path || 'params', 'must be an object');
    return params as Plain<T>;
  }
  for (const { name, isString } of fieldsOf(Params)) {
    const value = memberOf((source ?? {}) as JsonObject, name, spelling);
    if (value !== undefined && !(isString && value === '')) params[name] = value;
  }
  for (const { property, constraints = {} } of validateSync(Object.assign(new Params(), params), {
    stopAtFirstError: true,
  })) {
    for (const said of Object.values(constraints)) {
      violations.add(path === '' ? property : `${path}.${property}`, said.replace(`${property} `, ''));
    }
  }
  return params as Plain<T>;
}

/** A decoder of params that are such a class and nothing else. It throws InvalidParameters. */
export function paramsOf<T extends object>(Params: ParamsClass<T>, spelling: FieldCase) {
  return (params: JsonObject | undefined): Plain<T> => {
    const violations = new Violations();
    const read = readParams(Params, params, violations, { spelling });
    violations.throwIfAny();
    return read;
  };
}

/** A rule by the sentence that is said when it is broken. */
function rule(name: string, problem: (value: unknown) => string | undefined): PropertyDecorator {
  return ValidateBy({
    name,
    validator: {
      validate: (value: unknown) => problem(value) === undefined,
      defaultMessage: (broken) => problem(broken?.value) ?? '',
    },
  });
}

const all =
  (...rules: PropertyDecorator[]): PropertyDecorator =>
  (target, name) =>
    rules.forEach((decorate) => decorate(target, name));

const text = (problem: (value: string) => string | undefined) => (value: unknown) =>
  typeof value === 'string' ? problem(value) : 'must be a string';

export const Required = (): PropertyDecorator => IsDefined({ message: 'is required' });
export const Optional = (): PropertyDecorator => IsOptional();

/** A bounded, printable string. */
export const IsId = (): PropertyDecorator => rule('isId', text(idProblem));

export const RequiredId = (): PropertyDecorator => all(Required(), IsId());
export const OptionalId = (): PropertyDecorator => all(Optional(), IsId());

/** An integer as a JSON number: `"10"` is refused (ProtoJSON would take it, but a client that sends it has a bug). */
export const IsIntegerBetween = (min: number, max: number): PropertyDecorator =>
  rule('isIntegerBetween', (value) =>
    typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
      ? undefined
      : `must be an integer from ${min} to ${max}`,
  );

export const INT32_MAX = 2 ** 31 - 1;

/** `historyLength`: an upper bound of messages, or none when absent. */
export const IsHistoryLength = (): PropertyDecorator => all(Optional(), IsIntegerBetween(0, INT32_MAX));

export const IsTimestamp = (): PropertyDecorator =>
  rule(
    'isTimestamp',
    text((value) =>
      parseTimestamp(value) === undefined
        ? 'must be an RFC 3339 timestamp such as 2025-10-28T10:30:00.000Z'
        : undefined,
    ),
  );

export const IsJsonObject = (): PropertyDecorator =>
  rule('isJsonObject', (value) => (isObject(value as Json) ? undefined : 'must be an object'));

/** Opaque and ours, so anything beyond a bounded string fails later, at its authentication. */
export const IsPageToken = (): PropertyDecorator =>
  rule(
    'isPageToken',
    text((value) => (value.length > 4096 ? 'is not a page token of this server' : undefined)),
  );

/** What becomes a header of a webhook request: visible ASCII and blanks, so no CR or LF can enter one. */
export const IsHeaderText = (maxLength: number): PropertyDecorator =>
  rule(
    'isHeaderText',
    text((value) =>
      value.length <= maxLength && /^[\x20-\x7e]*$/.test(value)
        ? undefined
        : `must be at most ${maxLength} printable ASCII characters`,
    ),
  );

/** An HTTP authentication scheme: a token of RFC 9110 section 5.6.2. */
export const IsAuthScheme = (): PropertyDecorator =>
  rule(
    'isAuthScheme',
    text((value) =>
      /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/.test(value) ? undefined : 'must be an HTTP authentication scheme',
    ),
  );

/** A webhook's address; whether it may be called is decided where it is called. */
export const IsWebhookUrl = (): PropertyDecorator =>
  rule(
    'isWebhookUrl',
    text((value) => {
      const url = value.length <= 2048 && !/[\s\p{C}]/u.test(value) ? parseUrl(value) : null;
      return url !== null && ['http:', 'https:'].includes(url.protocol)
        ? undefined
        : 'must be an absolute http or https URL of at most 2048 characters';
    }),
  );

function parseUrl(value: string): URL | null {
  try {
    return new URL(value);
  } catch {
    return null;
  }
}
