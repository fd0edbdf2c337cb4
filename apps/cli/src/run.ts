import { DomainError } from '@app/domain';
import { CommanderError } from 'commander';
import { FAILURE, Interrupted, INTERRUPTED, NotWell, WRONG_USAGE } from './exit.js';
import { createProgram } from './program.js';
import { harmless } from './terminal.js';

/** Runs one command line and gives the exit code. What goes wrong is one sentence on stderr. */
export async function run(args: readonly string[]): Promise<number> {
  try {
    await createProgram().parseAsync(args, { from: 'user' });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    return exitCodeOf(error);
  }
}

function exitCodeOf(error: unknown): number {
  // Commander has written what it has to say.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
  if (error instanceof NotWell) return FAILURE;
  if (error instanceof Interrupted) return INTERRUPTED;
  console.error(`acta: ${harmless(error instanceof Error ? error.message : String(error))}`);
  return DomainError.is(error, 'InvalidParameters') ? WRONG_USAGE : FAILURE;
}
