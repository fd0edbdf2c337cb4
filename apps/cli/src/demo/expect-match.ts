/** A response that does not match the expectation of the demo. */
export class Mismatch extends Error {}

/**
 * Compares a value with an expected one. Objects must match in the expected fields, arrays in every element, strings can
 * match a regular expression, and everything else must be equal.
 *
 * @throws Mismatch with the path of the first difference
 */
export function expectMatch(actual: unknown, expected: unknown, path = 'response'): void {
  if (expected instanceof RegExp) {
    if (typeof actual !== 'string' || !expected.test(actual)) differ(actual, String(expected), path);
  } else if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) differ(actual, JSON.stringify(expected), path);
    expected.forEach((element, index) => expectMatch(actual[index], element, `${path}[${index}]`));
  } else if (typeof expected === 'object' && expected !== null) {
    if (typeof actual !== 'object' || actual === null) differ(actual, 'an object', path);
    for (const [name, value] of Object.entries(expected)) {
      expectMatch((actual as Record<string, unknown>)[name], value, `${path}.${name}`);
    }
  } else if (actual !== expected) differ(actual, expected === undefined ? 'absent' : JSON.stringify(expected), path);
}

function differ(actual: unknown, expected: string, path: string): asserts actual is never {
  throw new Mismatch(`${path}: expected ${expected}, got ${JSON.stringify(actual) ?? 'absent'}`);
}
