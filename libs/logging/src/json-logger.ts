import type { LogLevel } from '@app/config';
import type { LoggerService } from '@nestjs/common';
import { type DestinationStream, destination, type Level, type Logger as Pino, pino, stdTimeFunctions } from 'pino';
import { errorFields, stackFrames } from './error-fields.js';

/** File descriptor of stderr. stdout is for the startup text and for the result of `--json`. */
const STDERR = 2;
/** Fields that the logger sets itself. A logged object cannot overwrite them. */
const RESERVED = new Set(['level', 'time', 'context']);
/** Parts of Nest that report each module and each route at startup. Their lines have the level `debug`. */
const STARTUP_CONTEXTS = new Set([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
]);

/**
 * Writes log lines to stderr, one JSON object per line: `level`, `time` (ISO 8601, UTC), `context`, the fields of the
 * logged object, and `message`. An error in a field is written as `error`, `code`, `cause` and `stack`. Each line is
 * written synchronously, so that none is lost when the process exits.
 */
export class JsonLogger implements LoggerService {
  private readonly pino: Pino;

  constructor(level: LogLevel, stream: DestinationStream = destination({ dest: STDERR, sync: true })) {
    const formatters = { level: (label: string) => ({ level: label }) };
    const options = { level, base: null, messageKey: 'message', timestamp: stdTimeFunctions.isoTime, formatters };
    this.pino = pino(options, stream);
  }

  fatal(message: unknown, ...params: unknown[]): void {
    this.write('fatal', message, params);
  }

  error(message: unknown, ...params: unknown[]): void {
    this.write('error', message, params);
  }

  warn(message: unknown, ...params: unknown[]): void {
    this.write('warn', message, params);
  }

  log(message: unknown, ...params: unknown[]): void {
    this.write(STARTUP_CONTEXTS.has(contextOf(params) ?? '') ? 'debug' : 'info', message, params);
  }

  debug(message: unknown, ...params: unknown[]): void {
    this.write('debug', message, params);
  }

  verbose(message: unknown, ...params: unknown[]): void {
    this.write('trace', message, params);
  }

  private write(level: Level, message: unknown, params: readonly unknown[]): void {
    if (!this.pino.isLevelEnabled(level)) return;
    const context = contextOf(params);
    const stack = params.find(isStack);
    const frames = stack === undefined ? {} : { stack: stackFrames(stack) };
    const objects = params.filter((param) => typeof param === 'object');
    this.pino[level](Object.assign({ context }, frames, ...objects.map(fieldsOf), fieldsOf(message)));
  }
}

const isStack = (param: unknown): param is string => typeof param === 'string' && stackFrames(param) !== '';

/** Nest passes the context as the last parameter, and may pass the stack of an error before it. */
function contextOf(params: readonly unknown[]): string | undefined {
  const last = params.at(-1);
  return typeof last === 'string' && !isStack(last) ? last : undefined;
}

function fieldsOf(logged: unknown): Record<string, unknown> {
  if (logged instanceof Error) return { ...errorFields(logged), message: logged.message };
  if (typeof logged !== 'object' || logged === null) return { message: String(logged) };
  const fields = Object.entries(logged).filter(([name]) => !RESERVED.has(name));
  return Object.assign(
    {},
    ...fields.map(([name, value]) => (value instanceof Error ? errorFields(value) : { [name]: value })),
  );
}
