/** The embedded Postgres cannot be used. The message is one sentence for the person who started Acta. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
}

// By shape: an error of the runtime is no instance of Error in a realm of its own, such as that of a test.
export function hasCode(error: unknown, ...codes: string[]): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && codes.includes(String(error.code));
}
