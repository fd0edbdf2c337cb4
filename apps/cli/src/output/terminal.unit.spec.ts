import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { sanitizeForTerminal, printJson, shorten, table } from './terminal.js';

afterEach(() => void jest.restoreAllMocks());

describe('Terminal output', () => {
  it('sanitizeForTerminal() replaces control characters and line breaks, and keeps other text', () => {
    expect(sanitizeForTerminal('a\u001b[31mred\u009b2J\u0007')).toBe('a·[31mred·2J·');
    expect(sanitizeForTerminal('one\ntwo\r\nthree\rfour\u2028five')).toBe('one↵two↵three↵four↵five');
    expect(sanitizeForTerminal('\u202egnp.exe\u2066\u200b')).toBe('·gnp.exe··');
    expect(sanitizeForTerminal('tab\there, grüße, 日本語, 🙂')).toBe('tab here, grüße, 日本語, 🙂');
  });

  it('shorten() counts characters and never splits one', () => {
    expect(shorten('short', 5)).toBe('short');
    expect(shorten('longer', 5)).toBe('long…');
    expect(shorten('🙂🙂🙂', 3)).toBe('🙂🙂🙂');
    expect(shorten('🙂🙂🙂🙂', 3)).toBe('🙂🙂…');
  });

  it('table() aligns columns without trailing spaces', () => {
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

  it('printJson() escapes characters that control a terminal, and stays parseable', () => {
    const log = jest.spyOn(console, 'log').mockImplementation(() => undefined);
    const value = { text: 'a\u001b\u009b\u202e\u007fz' };
    printJson(value);
    const printed = log.mock.calls[0]![0] as string;
    expect(printed).toBe('{"text":"a\\u001b\\u009b\\u202e\\u007fz"}');
    expect(JSON.parse(printed)).toEqual(value);
  });
});
