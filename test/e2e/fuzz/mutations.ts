import type { Json, JsonObject } from '@app/domain';
import fc from 'fast-check';

/** Values that parsers, databases and type checks often handle incorrectly. */
const EDGE_VALUES: Json[] = [
  null,
  true,
  false,
  0,
  -1,
  -0,
  1.5,
  2 ** 31,
  2 ** 53,
  1e308,
  5e-324,
  '',
  ' ',
  '0',
  '10',
  'null',
  '__proto__',
  'constructor',
  'a\u0000b',
  '\ud800',
  '\udc00\ud800',
  '\ufeff',
  '\u202e',
  '\r\nX: y',
  "'; drop table task; --",
  '%00',
  '../..',
  'x'.repeat(257),
  'ring:none',
  'TASK_STATE_UNSPECIFIED',
  '9999-12-31T23:59:59.999Z',
  '-000001-01-01T00:00:00Z',
  '2025-06-31T00:00:00Z',
  'https://user:pw@127.0.0.1/',
  'javascript:alert(1)',
  [],
  {},
  [[]],
  [null],
  [{}],
  { '': '' },
  JSON.parse('{"__proto__":{"id":"x"}}') as Json,
];

/** Any JSON value. */
export const anyJson: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom(...EDGE_VALUES),
  fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>,
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.integer({ min: 60, max: 500 }).map((depth) => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`) as Json),
);

type Path = (string | number)[];

/** Returns the path of a value and of every value in it. */
function pathsIn(value: Json, path: Path = []): Path[] {
  if (value === null || typeof value !== 'object' || path.length > 12) return [path];
  const keys: (string | number)[] = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return [path, ...keys.flatMap((key) => pathsIn((value as Record<string | number, Json>)[key]!, [...path, key]))];
}

/** Returns a copy with one value changed. A value that changes to undefined is removed. */
function changeAt(value: Json, [key, ...path]: Path, change: (value: Json) => Json | undefined): Json | undefined {
  if (key === undefined) return change(value);
  const copy = (Array.isArray(value) ? [...value] : { ...(value as JsonObject) }) as Record<string | number, Json>;
  const changed = changeAt(copy[key]!, path, change);
  if (changed !== undefined) copy[key] = changed;
  else if (Array.isArray(copy)) copy.splice(Number(key), 1);
  else delete copy[key];
  return copy as Json;
}

/** A change of one value: a different value, its removal, a list, a string or an additional key. */
const mutation: fc.Arbitrary<(value: Json) => Json | undefined> = fc.oneof(
  { weight: 5, arbitrary: anyJson.map((other) => () => other) },
  { weight: 2, arbitrary: fc.constant(() => undefined) },
  { weight: 1, arbitrary: fc.constant((value: Json) => [value, value]) },
  { weight: 1, arbitrary: fc.constant((value: Json) => JSON.stringify(value)) },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.oneof(fc.constantFrom('id', 'tenant', 'ring', 'kind', 'task_id'), fc.string()), anyJson).map(
      ([key, more]) =>
        (value: Json) =>
          typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value, [key]: more } : value,
    ),
  },
);

/** Changes up to three values of a template. */
export const mutated = (template: Json): fc.Arbitrary<Json> =>
  fc.array(fc.tuple(fc.nat(), mutation), { maxLength: 3 }).map((changes) =>
    changes.reduce<Json>((value, [index, change]) => {
      const paths = pathsIn(value);
      return changeAt(value, paths[index % paths.length]!, change) ?? null;
    }, template),
  );

/** Inserts, replaces or removes bytes of an encoded text. */
export const damaged = (text: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> =>
  fc
    .tuple(text, fc.nat(), fc.uint8Array({ maxLength: 4 }), fc.constantFrom('insert', 'cut', 'replace'))
    .map(([bytes, position, extra, how]) => {
      const start = position % (bytes.length + 1);
      if (how === 'cut') return bytes.slice(0, start);
      const end = how === 'insert' ? start : start + extra.length;
      return Buffer.concat([bytes.slice(0, start), extra, bytes.slice(end)]);
    });

/** Encodes JSON as UTF-8. */
export const bytesOf = (value: Json): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
