import { Command } from 'commander';
import { diagnose } from '../doctor.js';
import { CheckFailed } from '../exit.js';
import { JSON_OPTION, type OutputOptions } from '../options.js';
import { print, sanitizeForTerminal } from '../output/terminal.js';

export function doctorCommand(): Command {
  return new Command('doctor')
    .description('Check the requirements of a server and print how to correct each failure.')
    .option(...JSON_OPTION)
    .action(async (options: OutputOptions) => {
      const findings = await diagnose();
      const lines = findings.map(
        ({ check, ok, detail }) => `${ok ? 'ok    ' : 'FAILED'}  ${check}: ${sanitizeForTerminal(detail)}`,
      );
      print(options, findings, lines);
      if (findings.some(({ ok }) => !ok)) throw new CheckFailed();
    });
}
