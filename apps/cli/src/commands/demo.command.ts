import { Command } from 'commander';
import { runDemo } from '../demo/demo.js';
import { interruptible } from '../session/database-session.js';
import { NotWell } from '../exit.js';
import { JSON_OPTION, type OutputOptions } from '../options.js';
import { print } from '../output/terminal.js';

export function demoCommand(): Command {
  return new Command('demo')
    .description('Use every surface of a server on a scratch database as a client would, and check each answer.')
    .option(...JSON_OPTION)
    .action(async (options: OutputOptions) => {
      const outcomes = await interruptible((signal) =>
        runDemo((line) => {
          if (!options.json) console.log(line);
        }, signal),
      );
      const wrong = outcomes.filter(({ ok }) => !ok).length;
      const verdict = wrong === 0 ? 'all is as it should be' : `${wrong} went wrong`;
      print(options, outcomes, ['', `${outcomes.length} steps: ${verdict}.`]);
      if (wrong > 0) throw new NotWell();
    });
}
