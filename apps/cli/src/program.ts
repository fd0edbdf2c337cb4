import { Command } from 'commander';
import { auditCommand } from './commands/audit.commands.js';
import { demoCommand } from './commands/demo.command.js';
import { doctorCommand } from './commands/doctor.command.js';
import { keysCommand } from './commands/keys.commands.js';
import { migrateCommand } from './commands/migrate.command.js';
import { processCommands } from './commands/process.commands.js';
import { projectionsCommand } from './commands/projections.commands.js';
import { pushesCommand } from './commands/pushes.commands.js';
import { tasksCommand } from './commands/tasks.commands.js';
import { programVersion } from './session/program-version.js';

/** Creates the command line. Incorrect usage throws a CommanderError, after its explanation is printed on stderr. */
export function createProgram(): Command {
  const program = new Command('acta')
    .description('A durable, auditable A2A task server.')
    .version(programVersion(), '-V, --version', 'print the version')
    .showHelpAfterError('(add --help for the available commands and options)')
    .exitOverride();
  for (const command of [
    ...processCommands(),
    migrateCommand(),
    doctorCommand(),
    keysCommand(),
    tasksCommand(),
    auditCommand(),
    projectionsCommand(),
    pushesCommand(),
    demoCommand(),
  ]) {
    program.addCommand(command);
  }
  inheritSettings(program);
  return program;
}

/** Copies the settings of each command to its subcommands, which `addCommand` does not do. */
function inheritSettings(parent: Command): void {
  for (const command of parent.commands) {
    command.copyInheritedSettings(parent);
    inheritSettings(command);
  }
}
