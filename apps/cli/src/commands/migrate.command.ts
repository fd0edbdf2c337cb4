import { migrate } from '@app/storage';
import { Command } from 'commander';
import { JSON_OPTION, type OutputOptions } from '../options.js';
import { print } from '../output/terminal.js';
import { withConnection } from '../session/database-session.js';

export function migrateCommand(): Command {
  return new Command('migrate')
    .description('Apply pending migrations to the database. Servers and workers also do this when they start.')
    .option(...JSON_OPTION)
    .action(async (options: OutputOptions) => {
      const applied = await withConnection(({ database }) => migrate(database));
      const lines = applied.length === 0 ? ['The schema is up to date.'] : applied.map((name) => `Applied ${name}.`);
      print(options, { applied }, lines);
    });
}
