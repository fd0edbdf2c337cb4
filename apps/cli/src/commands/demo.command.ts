import { formatCount } from '@app/domain';
import { Command } from 'commander';
import { runDemo } from '../demo/demo.js';
import { CheckFailed } from '../exit.js';
import { JSON_OPTION, type OutputOptions } from '../options.js';
import { print } from '../output/terminal.js';
import { interruptible } from '../session/database-session.js';

export function demoCommand(): Command {
  return new Command('demo')
    .description('Call every API of a server on a temporary database and check each response.')
    .option(...JSON_OPTION)
    .action(async (options: OutputOptions) => {
      const outcomes = await interruptible((signal) =>
        runDemo((line) => {
          if (!options.json) console.log(line);
        }, signal),
      );
      const failed = outcomes.filter(({ ok }) => !ok).length;
      const verdict = failed === 0 ? 'all passed' : `${failed} failed`;
      print(options, outcomes, ['', `${formatCount(outcomes.length, 'step')}: ${verdict}.`]);
      if (failed > 0) throw new CheckFailed();
    });
}
