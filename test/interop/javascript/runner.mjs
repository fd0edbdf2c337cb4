import { parseArgs } from 'node:util';

const CASE_TIMEOUT_MS = 30_000;

/**
 * Returns the target of this client, from its command line.
 *
 * @returns {{ url: string, binding: 'JSONRPC' | 'HTTP+JSON', token: string }} `token` is empty if the server requires no credential
 */
export function readTarget() {
  const { values } = parseArgs({
    options: { url: { type: 'string' }, binding: { type: 'string' }, token: { type: 'string' } },
  });
  const { url = '', binding = '', token = '' } = values;
  return { url, binding: /** @type {'JSONRPC' | 'HTTP+JSON'} */ (binding), token };
}

/**
 * Runs the cases one after the other, and prints the result of each as a line of JSON.
 *
 * @param {Record<string, () => Promise<void>>} cases
 */
export async function runCases(cases) {
  for (const [name, run] of Object.entries(cases)) {
    const error = await withTimeout(run).then(
      () => undefined,
      (thrown) => describe(thrown),
    );
    console.log(
      JSON.stringify(error === undefined ? { case: name, passed: true } : { case: name, passed: false, error }),
    );
  }
  // Connections of a failed case can still be open.
  process.exit();
}

/** @param {() => Promise<void>} run */
async function withTimeout(run) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no result after ${CASE_TIMEOUT_MS} ms`)), CASE_TIMEOUT_MS);
  });
  await Promise.race([run(), timeout]).finally(() => clearTimeout(timer));
}

/** @param {unknown} error the message of an error and of its causes */
const describe = (error) => {
  const texts = [];
  for (let cause = error; cause instanceof Error; cause = cause.cause) texts.push(`${cause.name}: ${cause.message}`);
  return texts.length === 0 ? String(error) : texts.join('; ');
};

/** @type {(condition: unknown, message: string) => asserts condition} */
export function check(condition, message) {
  if (!condition) throw new Error(message);
}

/**
 * Expects that an operation fails, with an error that says so.
 *
 * @param {() => Promise<unknown>} run
 * @param {RegExp} expected
 */
export async function expectError(run, expected) {
  const error = await run().then(
    () => undefined,
    (thrown) => describe(thrown),
  );
  check(error !== undefined, 'the operation succeeded');
  check(expected.test(error), `the error is not ${expected}: ${error}`);
}

/**
 * Reads a stream to its end.
 *
 * @template T
 * @param {AsyncIterable<T>} stream
 */
export async function readAll(stream) {
  /** @type {T[]} */
  const updates = [];
  for await (const update of stream) updates.push(update);
  return updates;
}

/**
 * Repeats a read until it has the expected value.
 *
 * @template T
 * @param {() => Promise<T>} read
 * @param {(value: T) => boolean} satisfies
 */
export async function until(read, satisfies) {
  for (;;) {
    const value = await read();
    if (satisfies(value)) return value;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/**
 * Returns a `fetch` that sends a bearer token.
 *
 * @param {string} token
 * @returns {typeof fetch}
 */
export function fetchWith(token) {
  return (input, init) => {
    const headers = new Headers(init?.headers);
    if (token !== '') headers.set('Authorization', `Bearer ${token}`);
    return fetch(input, { ...init, headers });
  };
}
