import { BOUNDS } from '@app/domain';
import { numberProblem } from './json-number.js';
import type { JsonViolation } from './json-violation.js';

/** An object or an array that is open at the current position of the text. */
interface Container {
  /** The keys so far; null in an array. */
  readonly keys: Set<string> | null;
  /** The key or the index of the current member. */
  step: string | number;
  /** Whether the next string is a key. */
  expectsKey: boolean;
}

/** `JSON.parse` drops the value of a repeated key, so the bounds of the parsed value do not bound what this scan keeps. */
const MAX_DEPTH = 2 * BOUNDS.jsonDepth;
const MAX_MEMBERS = 2 * BOUNDS.jsonKeys;

const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/**
 * Finds the first member of a valid JSON text that `JSON.parse` loses or changes: a key that its object has twice, compared after
 * unescaping (RFC 7493 section 2.3), or a number that a double does not represent (section 2.2).
 */
export function findLoss(text: string): JsonViolation | undefined {
  const open: Container[] = [];
  const violation = (description: string): JsonViolation => ({ path: open.map(({ step }) => step), description });
  let members = 0;
  let offset = 0;
  while (offset < text.length) {
    const char = text[offset]!;
    const container = open.at(-1);
    if (char === '"') {
      const end = endOfString(text, offset);
      if (container?.expectsKey === true) {
        const key = JSON.parse(text.slice(offset, end)) as string;
        container.step = key;
        container.expectsKey = false;
        if (container.keys!.has(key)) return violation('is sent twice in one object; send it once');
        container.keys!.add(key);
      }
      offset = end;
      continue;
    }
    if (char === '-' || (char >= '0' && char <= '9')) {
      NUMBER.lastIndex = offset;
      const [token = char] = NUMBER.exec(text) ?? [];
      const problem = numberProblem(token);
      if (problem !== undefined) return violation(problem);
      offset += token.length;
      continue;
    }
    if (char === '{') open.push({ keys: new Set(), step: '', expectsKey: true });
    else if (char === '[') open.push({ keys: null, step: 0, expectsKey: false });
    else if (char === '}' || char === ']') open.pop();
    else if (char === ',' && container !== undefined) {
      if (container.keys === null) container.step = (container.step as number) + 1;
      else container.expectsKey = true;
      members += 1;
    }
    if (open.length > MAX_DEPTH) return violation(`must be nested at most ${BOUNDS.jsonDepth} levels deep`);
    if (members > MAX_MEMBERS) {
      return { path: [], description: `must have at most ${BOUNDS.jsonKeys} members and elements in total` };
    }
    offset += 1;
  }
  return undefined;
}

/** Returns the position after the string that starts at a position. */
function endOfString(text: string, start: number): number {
  let end = start;
  let backslashes: number;
  do {
    end = text.indexOf('"', end + 1);
    backslashes = 0;
    while (text[end - 1 - backslashes] === '\\') backslashes += 1;
  } while (backslashes % 2 === 1);
  return end + 1;
}
