import { DomainError } from '@app/domain';
import { type Command, CommanderError } from 'commander';
import { FAILURE, Interrupted, INTERRUPTED, NotWell, WRONG_USAGE } from './exit.js';
import { createProgram } from './program.js';
import { harmless } from './output/terminal.js';

/** Runs one command line and gives the exit code. What goes wrong is one sentence on stderr. */
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

/** Asked for help with a command that is not there, Commander would show that of the one above, and be content. */
function namesCommand(command: Command, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined || name === 'help' || name.startsWith('-') || command.commands.length === 0) return true;
  const next = command.commands.find((child) => child.name() === name);
  return next !== undefined && namesCommand(next, rest);
}

function exitCodeOf(error: unknown): number {
  // Commander has written what it has to say.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
  if (error instanceof NotWell) return FAILURE;
  if (error instanceof Interrupted) return INTERRUPTED;
  console.error(`acta: ${harmless(error instanceof Error ? error.message : String(error))}`);
  return DomainError.is(error, 'InvalidParameters') ? WRONG_USAGE : FAILURE;
}
