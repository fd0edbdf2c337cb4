import type { OutputOptions } from '../options.js';

// Control characters, invisible characters that reorder or hide text, line separators and lone surrogates. In the text of
// agents and clients they could control the terminal of an operator.
const UNSAFE_CHARACTERS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Converts untrusted text to one line without characters that control the terminal. */
export function sanitizeForTerminal(text: string): string {
  return text
    .replace(/\r\n|[\n\r\u2028\u2029]/g, '↵')
    .replace(/\t/g, ' ')
    .replace(UNSAFE_CHARACTERS, '·');
}

/** Converts untrusted text to lines without characters that control the terminal. */
export const sanitizeLines = (text: string): string[] => text.split(/\r\n|[\n\r\u2028\u2029]/).map(sanitizeForTerminal);

/** Shortens text to at most `width` characters; an ellipsis replaces the omitted end. */
export function shorten(text: string, width: number): string {
  const characters = Array.from(text.slice(0, width * 2 + 2));
  return characters.length <= width ? text : `${characters.slice(0, width - 1).join('')}…`;
}

/** Formats rows as lines of aligned columns under their headings. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const lines = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => characterCount(line[column] ?? ''))));
  return lines.map((line) =>
    line
      .map((cell, column) => pad(cell, widths[column]!))
      .join('  ')
      .trimEnd(),
  );
}

export const pad = (text: string, width: number): string =>
  text + ' '.repeat(Math.max(0, width - characterCount(text)));

/** Prints a result as one line of JSON with `--json`, otherwise as the lines. */
export function print(options: OutputOptions, value: unknown, lines: readonly string[]): void {
  if (options.json) printJson(value);
  else for (const line of lines) console.log(line);
}

/** Prints JSON on one line, and escapes the characters that JSON permits and a terminal would interpret. */
export function printJson(value: unknown): void {
  console.log(
    JSON.stringify(value).replace(
      /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  );
}

const characterCount = (text: string): number => Array.from(text).length;
