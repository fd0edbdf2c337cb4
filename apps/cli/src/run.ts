import { DomainError } from '@app/domain';
import { type Command, CommanderError } from 'commander';
import { CheckFailed, FAILURE, Interrupted, INTERRUPTED, USAGE_ERROR } from './exit.js';
import { sanitizeForTerminal } from './output/terminal.js';
import { createProgram } from './program.js';

/** Runs one command line and returns its exit code. Prints an error as one sentence on stderr. */
export async function run(args: readonly string[]): Promise<number> {
  try {
    const program = createProgram();
    await program.parseAsync(namesCommand(program, args) ? args : args.filter((arg) => !HELP.has(arg)), {
      from: 'user',
    });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    return exitCodeOf(error);
  }
}

const HELP = new Set(['--help', '-h']);

/** For help about an unknown command, Commander would print the help of the parent command and report success. */
function namesCommand(command: Command, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined || name === 'help' || name.startsWith('-') || command.commands.length === 0) return true;
  const next = command.commands.find((child) => child.name() === name);
  return next !== undefined && namesCommand(next, rest);
}

function exitCodeOf(error: unknown): number {
  // Commander has already printed its error.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE_ERROR;
  if (error instanceof CheckFailed) return FAILURE;
  if (error instanceof Interrupted) return INTERRUPTED;
  console.error(`acta: ${sanitizeForTerminal(error instanceof Error ? error.message : String(error))}`);
  return DomainError.is(error, 'InvalidParameters') ? USAGE_ERROR : FAILURE;
}
