/** An answer that is not what the demo expects. */
export class Difference extends Error {}

/**
 * Compares what the demo cares for: of an object the named fields, of a list every element, of a regular expression whether
 * a string matches; everything else must be equal.
 *
 * @throws Difference naming the first place that differs
 */
export function expectLike(actual: unknown, expected: unknown, place = 'the answer'): void {
  if (expected instanceof RegExp) {
    if (typeof actual !== 'string' || !expected.test(actual)) differ(actual, String(expected), place);
  } else if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) differ(actual, JSON.stringify(expected), place);
    expected.forEach((element, at) => expectLike(actual[at], element, `${place}[${at}]`));
  } else if (typeof expected === 'object' && expected !== null) {
    if (typeof actual !== 'object' || actual === null) differ(actual, 'an object', place);
    for (const [name, value] of Object.entries(expected)) {
      expectLike((actual as Record<string, unknown>)[name], value, `${place}.${name}`);
    }
  } else if (actual !== expected) differ(actual, expected === undefined ? 'nothing' : JSON.stringify(expected), place);
}

function differ(actual: unknown, expected: string, place: string): asserts actual is never {
  throw new Difference(`${place} should be ${expected}, and is ${JSON.stringify(actual) ?? 'absent'}`);
}
