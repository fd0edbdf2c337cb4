import { Command } from 'commander';
import { JSON_OPTION } from '../options.js';

/** Creates the commands that run a server or a worker. Each is a separate program, configured by the environment. */
export function processCommands(): Command[] {
  return [
    new Command('serve')
      .description(
        'Run a server, which serves all APIs and runs agents. See docs/environment.md for its configuration.',
      )
      .option(...JSON_OPTION)
      .action(() => start('server')),
    new Command('worker')
      .description('Run a worker, which only runs agents, for the tasks that servers accept on the same database.')
      .option(...JSON_OPTION)
      .action(() => start('worker')),
  ];
}

/** Imports the program by its path, because no app may import another one. */
async function start(app: 'server' | 'worker'): Promise<void> {
  await import(new URL(`../../../${app}/src/main.js`, import.meta.url).href);
}
