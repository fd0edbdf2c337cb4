/**
 * Returns whether an error has one of the codes, such as `ENOENT` or `57P01`. It checks the shape and not the class, because
 * the runtime's errors are not instances of `Error` in a different realm, such as that of a Jest test.
 */
export function hasErrorCode(error: unknown, ...codes: string[]): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && codes.includes(String(error.code));
}
