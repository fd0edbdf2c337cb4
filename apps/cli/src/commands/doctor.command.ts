import { Command } from 'commander';
import { diagnose } from '../doctor.js';
import { NotWell } from '../exit.js';
import { JSON_OPTION, type OutputOptions } from '../options.js';
import { harmless, print } from '../output/terminal.js';

export function doctorCommand(): Command {
  return new Command('doctor')
    .description('Check what a server needs, and say how to mend what is wrong.')
    .option(...JSON_OPTION)
    .action(async (options: OutputOptions) => {
      const findings = await diagnose();
      const lines = findings.map(
        ({ check, ok, detail }) => `${ok ? 'ok    ' : 'FAILED'}  ${check}: ${harmless(detail)}`,
      );
      print(options, findings, lines);
      if (findings.some(({ ok }) => !ok)) throw new NotWell();
    });
}
