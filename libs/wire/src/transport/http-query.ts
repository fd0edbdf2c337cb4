import type { Json, JsonObject } from '@app/domain';

const INTEGERS = ['historyLength', 'history_length', 'pageSize', 'page_size'];
const BOOLEANS = ['includeArtifacts', 'include_artifacts'];

export type HttpQuery = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Query parameters of the HTTP+JSON binding as the params of its method (A2A v1.0 section 11.5): decimal strings as numbers, `true` and
 * `false` as booleans, everything else as it is, for the method's own decoder to judge. A repeated parameter stays a list, which no
 * field takes.
 */
export function paramsOfQuery(query: HttpQuery): JsonObject {
  const given = Object.entries(query).filter(
    (entry): entry is [string, string | readonly string[]] => entry[1] !== undefined,
  );
  return Object.fromEntries(
    given.map(([name, value]) => [name, typeof value === 'string' ? scalarOf(name, value) : [...value]]),
  );
}

function scalarOf(name: string, value: string): Json {
  if (INTEGERS.includes(name) && /^-?\d{1,10}$/.test(value)) return Number(value);
  if (BOOLEANS.includes(name) && /^(?:true|false)$/.test(value)) return value === 'true';
  return value;
}
