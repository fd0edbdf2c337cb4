import type { OutputOptions } from '../options.js';

// Controls, invisible marks that reorder or hide text, and line separators: what others wrote must not steer the terminal.
const HARMFUL = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Text of others as one line that a terminal shows as it is. */
export function harmless(text: string): string {
  return text
    .replace(/\r\n|[\n\r\u2028\u2029]/g, '↵')
    .replace(/\t/g, ' ')
    .replace(HARMFUL, '·');
}

/** The same for text of several lines. */
export const harmlessLines = (text: string): string[] => text.split(/\r\n|[\n\r\u2028\u2029]/).map(harmless);

/** At most `width` characters, the last of which then says that there is more. */
export function shorten(text: string, width: number): string {
  const characters = Array.from(text.slice(0, width * 2 + 2));
  return characters.length <= width ? text : `${characters.slice(0, width - 1).join('')}…`;
}

/** Columns under their headings, as wide as what stands in them. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const lines = [headings, ...rows];
  const widths = headings.map((_, at) => Math.max(...lines.map((line) => lengthOf(line[at] ?? ''))));
  return lines.map((line) =>
    line
      .map((cell, at) => pad(cell, widths[at]!))
      .join('  ')
      .trimEnd(),
  );
}

export const pad = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - lengthOf(text)));

/** Prints a result: as one JSON document, or as lines for people. */
export function print(options: OutputOptions, value: unknown, lines: readonly string[]): void {
  if (options.json) printJson(value);
  else for (const line of lines) console.log(line);
}

/** JSON on one line. What JSON may hold and a terminal would obey is escaped. */
export function printJson(value: unknown): void {
  console.log(
    JSON.stringify(value).replace(
      /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  );
}

const lengthOf = (text: string): number => Array.from(text).length;
