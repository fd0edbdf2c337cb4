/**
 * Returns the fields of a log line that describe an error: `error` (its class and message), `code`, `cause`, and `stack`
 * (its frames, one per line, without the message). Other properties of the error are left out, because those of a
 * database error hold values of rows.
 */
export function errorFields(error: Error): Record<string, unknown> {
  const { stack, cause } = error;
  const { code } = error as { code?: unknown };
  const frames = stackFrames(stack);
  return {
    error: describe(error),
    ...(typeof code === 'string' ? { code } : {}),
    ...(cause instanceof Error ? { cause: describe(cause) } : {}),
    ...(frames === '' ? {} : { stack: frames }),
  };
}

const describe = ({ name, message }: Error): string => (message === '' ? name : `${name}: ${message}`);

/** Returns the frames of a V8 stack, one per line. The lines before them repeat the class and the message. */
export const stackFrames = (stack = ''): string =>
  stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .map((line) => line.trim())
    .join('\n');
