import { describe, expect, it } from '@jest/globals';
import type { LogLevel } from '@app/config';
import { JsonLogger } from './json-logger.js';

/** All levels, from the least to the most verbose. */
const LEVELS: readonly LogLevel[] = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'];

/** A logger and the lines that it has written. */
function open(level: LogLevel = 'info') {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => {
    expect(line).toMatch(/^[^\n]+\n$/);
    lines.push(JSON.parse(line) as Record<string, unknown>);
  };
  return { logger: new JsonLogger(level, { write }), lines };
}

describe('JsonLogger', () => {
  it('writes time, level, context, message and the fields of the logged object', () => {
    const { logger, lines } = open();
    logger.warn({ message: 'run lost', taskId: 'task-1', attempt: 2 }, 'execution');
    expect(lines).toEqual([
      {
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        level: 'warn',
        context: 'execution',
        message: 'run lost',
        taskId: 'task-1',
        attempt: 2,
      },
    ]);
  });

  it('writes an error as its class, message, code, cause and frames, and nothing else of it', () => {
    const { logger, lines } = open();
    const cause = new TypeError('not a string');
    const error = Object.assign(new Error('insert failed\nin two lines', { cause }), {
      code: '23505',
      detail: 'a row',
    });
    logger.error({ message: 'append failed', error }, undefined, 'storage');
    const { stack, ...line } = lines[0]!;
    expect(line).toMatchObject({
      message: 'append failed',
      context: 'storage',
      error: 'Error: insert failed\nin two lines',
      code: '23505',
      cause: 'TypeError: not a string',
    });
    expect(JSON.stringify(line)).not.toContain('a row');
    for (const frame of String(stack).split('\n')) expect(frame).toMatch(/^at /);
  });

  it('writes the frames of a stack that Nest passes beside an error without a context', () => {
    const { logger, lines } = open();
    const error = new Error('shutdown hook failed');
    logger.error(error, error.stack);
    expect(lines[0]).toMatchObject({ message: 'shutdown hook failed', stack: expect.stringMatching(/^at /) });
    expect(lines[0]).not.toHaveProperty('context');
  });

  it('does not let a logged object overwrite the level, the time or the context', () => {
    const { logger, lines } = open();
    logger.warn({ message: 'x', level: 'trace', time: 0, context: 'other' }, 'http');
    expect(lines[0]).toMatchObject({ level: 'warn', context: 'http', time: expect.any(String) });
  });

  it('writes the startup lines of Nest at the level debug', () => {
    const [info, debug] = [open('info'), open('debug')];
    for (const { logger } of [info, debug]) logger.log('Mapped {/health, GET} route', 'RouterExplorer');
    expect(info.lines).toEqual([]);
    expect(debug.lines).toMatchObject([{ level: 'debug', context: 'RouterExplorer' }]);
  });

  it.each(LEVELS)('writes only the lines at or above the level %s', (level) => {
    const { logger, lines } = open(level);
    for (const method of ['fatal', 'error', 'warn', 'log', 'debug', 'verbose'] as const) logger[method]('x', 'context');
    const severities = LEVELS.slice(1);
    expect(lines.map((line) => line['level'])).toEqual(severities.slice(0, severities.indexOf(level as never) + 1));
  });
});
