import { migrate, type MigrationResult } from '@app/storage';
import { Command } from 'commander';
import { JSON_OPTION, type OutputOptions } from '../options.js';
import { print, sanitizeForTerminal } from '../output/terminal.js';
import { withOwnerConnection } from '../session/database-session.js';

interface MigrateOptions extends OutputOptions {
  readonly grant?: string;
}

export function migrateCommand(): Command {
  return new Command('migrate')
    .description(
      'Apply pending migrations as the role in ACTA_OWNER_DATABASE_URL, or else in DATABASE_URL. A server or worker with the rights of that role also does this when it starts.',
    )
    .option('--grant <role>', 'set up a role for servers and workers, which can read everything but not change events')
    .option(...JSON_OPTION)
    .action(async ({ grant, ...options }: MigrateOptions) => {
      const result = await withOwnerConnection(({ database, applicationRole }) =>
        migrate(database, { grantTo: grant ?? applicationRole ?? undefined }),
      );
      print(options, result, linesOf(result, grant));
    });
}

function linesOf({ number, applied, adopted, granted }: MigrationResult, grant: string | undefined): string[] {
  const changes = [
    ...applied.map((name) => `Applied ${name}.`),
    ...adopted.map((name) => `Recorded ${name}, which was applied with psql.`),
  ];
  return [
    ...(changes.length === 0 ? ['The schema is up to date.'] : [...changes, `The schema has the number ${number}.`]),
    ...(grant === undefined
      ? []
      : granted.map((role) => `The role ${sanitizeForTerminal(role)} has the rights of servers and workers.`)),
  ];
}
