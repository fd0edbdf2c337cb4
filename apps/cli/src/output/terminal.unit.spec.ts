import { afterEach, expect, it, jest } from '@jest/globals';
import { harmless, printJson, shorten, table } from './terminal.js';

afterEach(() => void jest.restoreAllMocks());

it('takes from text what would steer a terminal, and keeps it on one line', () => {
  expect(harmless('a\u001b[31mred\u009b2J\u0007')).toBe('a·[31mred·2J·');
  expect(harmless('one\ntwo\r\nthree\rfour\u2028five')).toBe('one↵two↵three↵four↵five');
  expect(harmless('\u202egnp.exe\u2066\u200b')).toBe('·gnp.exe··');
  expect(harmless('tab\there, grüße, 日本語, 🙂')).toBe('tab here, grüße, 日本語, 🙂');
});

it('shortens by characters, without breaking one', () => {
  expect(shorten('short', 5)).toBe('short');
  expect(shorten('longer', 5)).toBe('long…');
  expect(shorten('🙂🙂🙂', 3)).toBe('🙂🙂🙂');
  expect(shorten('🙂🙂🙂🙂', 3)).toBe('🙂🙂…');
});

it('aligns columns without trailing spaces', () => {
  expect(
    table(
      ['ID', 'NAME'],
      [
        ['1', 'a'],
        ['22', 'bb'],
      ],
    ),
  ).toEqual(['ID  NAME', '1   a', '22  bb']);
});

it('writes JSON that a terminal shows as it is and a program reads back', () => {
  const log = jest.spyOn(console, 'log').mockImplementation(() => undefined);
  const value = { text: 'a\u001b\u009b\u202e\u007fz' };
  printJson(value);
  const printed = log.mock.calls[0]![0] as string;
  expect(printed).toBe('{"text":"a\\u001b\\u009b\\u202e\\u007fz"}');
  expect(JSON.parse(printed)).toEqual(value);
});
