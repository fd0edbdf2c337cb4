import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Command } from 'commander';
import { createProgram } from './program.js';
import { run } from './run.js';

let printed: { out: string; error: string };

beforeEach(() => {
  printed = { out: '', error: '' };
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => ((printed.out += String(text)), true));
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => ((printed.error += String(text)), true));
  jest.spyOn(console, 'error').mockImplementation((text) => void (printed.error += `${String(text)}\n`));
});

afterEach(() => void jest.restoreAllMocks());

describe('The command line', () => {
  it.each(
    [
      [],
      ['bogus'],
      ['bogus', '--help'],
      ['help', 'bogus'],
      ['keys'],
      ['keys', 'bogus'],
      ['keys', 'bogus', '-h'],
      ['keys', 'create'],
      ['keys', 'create', '--subject', 's', '--ring', 'r', '--admin', '--worker'],
      ['keys', 'create', '--subject', 's', '--ring', 'r', '--expires', 'soon'],
      ['keys', 'create', '--subject', 's'],
      ['keys', 'revoke'],
      ['tasks', 'show'],
      ['tasks', 'show', 'one', 'two'],
      ['tasks', 'list', '--status', 'done'],
      ['tasks', 'list', '--limit', '101'],
      ['tasks', 'events', 'id', '--after', 'x'],
      ['tasks', 'send'],
      ['audit', 'verify', '--task'],
      ['migrate', '--unknown'],
    ].map((args) => [args]),
  )('exits with code 2 and an explanation on stderr for the incorrect arguments %j', async (args) => {
    expect(await run(args)).toBe(2);
    expect(printed).toEqual({ out: '', error: expect.stringMatching(/\S/) });
  });

  it('prints usage, a description and the --json option as the help of every command', async () => {
    for (const path of commandPathsOf(createProgram())) {
      printed.out = '';
      expect([path, await run([...path, '--help'])]).toEqual([path, 0]);
      expect(printed.out).toContain(`Usage: acta ${path.join(' ')}`);
      expect(printed.out).toContain('--json');
      expect(printed.out).toMatch(/\n\n[A-Z][^\n]+[.\n]/);
    }
  });
});

function commandPathsOf(command: Command, path: readonly string[] = []): string[][] {
  if (command.commands.length === 0) return [[...path]];
  return command.commands.flatMap((child) => commandPathsOf(child, [...path, child.name()]));
}
