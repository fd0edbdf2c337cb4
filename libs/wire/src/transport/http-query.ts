import type { Json, JsonObject } from '@app/domain';

export type HttpQuery = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The names of the query parameters that are not strings. */
interface QueryTypes {
  readonly integers: readonly string[];
  readonly booleans?: readonly string[];
}

/**
 * Converts query parameters to params (A2A v1.0 section 11.5): decimal strings to numbers, and `true` and `false` to booleans. Other
 * values stay as they are, so that the decoder of the operation rejects them. A repeated parameter becomes a list, which no field
 * accepts.
 */
export function paramsOfQuery(query: HttpQuery, { integers, booleans = [] }: QueryTypes): JsonObject {
  const scalarOf = (name: string, value: string): Json => {
    if (integers.includes(name) && /^-?\d{1,10}$/.test(value)) return Number(value);
    if (booleans.includes(name) && /^(?:true|false)$/.test(value)) return value === 'true';
    return value;
  };
  return Object.fromEntries(
    Object.entries(query).flatMap(([name, value]) => {
      if (value === undefined) return [];
      return [[name, typeof value === 'string' ? scalarOf(name, value) : [...value]]];
    }),
  );
}
