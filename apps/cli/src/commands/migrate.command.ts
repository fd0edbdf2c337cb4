import { migrate } from '@app/storage';
import { Command } from 'commander';
import { withConnection } from '../session/database-session.js';
import { JSON_OPTION, type OutputOptions } from '../options.js';
import { print } from '../output/terminal.js';

export function migrateCommand(): Command {
  return new Command('migrate')
    .description('Bring the schema of the database up to date (servers and workers do so too when they start).')
    .option(...JSON_OPTION)
    .action(async (options: OutputOptions) => {
      const applied = await withConnection(({ database }) => migrate(database));
      const lines = applied.length === 0 ? ['The schema is up to date.'] : applied.map((name) => `Applied ${name}.`);
      print(options, { applied }, lines);
    });
}
