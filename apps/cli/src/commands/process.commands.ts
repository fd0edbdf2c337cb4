import { Command } from 'commander';
import { JSON_OPTION } from '../options.js';

/** The long-running processes. Each is a program of its own, which reads its environment and says what it needs. */
export function processCommands(): Command[] {
  return [
    new Command('serve')
      .description('Serve every surface, and run agents (configured by the environment; see the README).')
      .option(...JSON_OPTION)
      .action(() => start('server')),
    new Command('worker')
      .description('Run agents only, on the queue of a database that servers fill.')
      .option(...JSON_OPTION)
      .action(() => start('worker')),
  ];
}

/** By address, because no app imports another: it is run, not used. */
async function start(app: 'server' | 'worker'): Promise<void> {
  await import(new URL(`../../../${app}/src/main.js`, import.meta.url).href);
}
