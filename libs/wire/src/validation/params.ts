import 'reflect-metadata';
import type { Json, JsonObject } from '@app/domain';
import { getMetadataStorage, validateSync } from 'class-validator';
import { ENUM_RULE } from './param-rules.js';
import { fieldPath } from '../json/json-violation.js';
import { type FieldCase, isObject, memberOf, spellingProblem, Violations, withValue } from './object-reader.js';

/*
 * The params of a method are class-validator classes, so that their fields and rules are declared in one place. A message is not
 * such a class: its parts are a oneof whose bytes are normalized, so a class would need a second pass (see `message.codec.ts`).
 */

type ParamsClass<T extends object> = new () => T;

interface Field {
  readonly name: string;
  /** A string or an enum. An empty string counts as absent (proto3). */
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
      isString:
        Reflect.getMetadata('design:type', Params.prototype as object, name) === String ||
        rules.some((rule) => rule.propertyName === name && rule.name === ENUM_RULE),
    }));
    fieldsOfClass.set(Params, fields);
  }
  return fields;
}

/** A params class as a plain object type. */
type Plain<T> = { [K in keyof T]: T[K] };

/**
 * Reads the fields of `source` that `Params` declares, and adds a violation below `path` for each field that its rules reject.
 * Unknown fields are ignored. Null counts as absent, and so does an empty string in a string field.
 */
export function readParams<T extends object>(
  Params: ParamsClass<T>,
  source: Json | undefined,
  violations: Violations,
  { fieldCase, path = '' }: { fieldCase: FieldCase; path?: string },
): Plain<T> {
  const params: Record<string, unknown> = {};
  if (source !== undefined && source !== null && !isObject(source)) {
    violations.add(path || 'params', withValue('must be an object', source));
    return params as Plain<T>;
  }
  const members = (source ?? {}) as JsonObject;
  const pathOf = (name: string) => (path === '' ? name : `${path}.${name}`);
  for (const { name, isString } of fieldsOf(Params)) {
    const problem = spellingProblem(members, name, fieldCase);
    if (problem !== undefined) violations.add(pathOf(name), problem);
    const value = memberOf(members, name, fieldCase);
    if (value !== undefined && !(isString && value === '')) params[name] = value;
  }
  // The validator rejects an instance of a class without rules.
  if (fieldsOf(Params).length === 0) return params as Plain<T>;
  for (const { property, constraints = {} } of validateSync(Object.assign(new Params(), params), {
    stopAtFirstError: true,
  })) {
    for (const description of Object.values(constraints)) {
      violations.add(pathOf(property), description);
    }
  }
  return params as Plain<T>;
}

/**
 * Returns a decoder of params that consist of one params class. The decoder throws InvalidParameters; with `unknown`, also for a
 * param that the class does not declare or that is empty.
 */
export function paramsOf<T extends object>(
  Params: ParamsClass<T>,
  fieldCase: FieldCase,
  { unknown = 'ignored' }: { readonly unknown?: 'ignored' | 'rejected' } = {},
) {
  return (params: JsonObject | undefined): Plain<T> => {
    const violations = new Violations();
    if (unknown === 'rejected') addUnknown(params ?? {}, fieldsOf(Params), violations);
    const read = readParams(Params, params, violations, { fieldCase });
    violations.throwIfAny();
    return read;
  };
}

function addUnknown(params: JsonObject, fields: readonly Field[], violations: Violations): void {
  const known = fields.map(({ name }) => name);
  const remedy = known.length === 0 ? 'omit it' : `the parameters are ${known.join(', ')}`;
  for (const [name, value] of Object.entries(params)) {
    if (!known.includes(name)) violations.add(fieldPath([name]), `is not a parameter of this path; ${remedy}`);
    else if (value === '') violations.add(name, 'must not be empty; omit it to set no filter');
  }
}
